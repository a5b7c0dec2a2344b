"""A warm engine must be the same engine as a plain one, and as easy to get rid of."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from processes import alive, identities

from tui.engine import health
from tui.engine.inside import kin
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.engine.warm import Starters

pytestmark = pytest.mark.engine

# What differs between any two launches: the port, and ids that are made anew.
VARIES = ("port", "SHM_BUFFER_NAME", "instance_id", "launch", "distributed_init", "fingerprint", "timestamp")


def worker_of(engine: Engine) -> int:
    """The process that computes: it has by far the most CPU time and threads."""
    return max(engine.pids(), key=lambda pid: len(os.listdir(f"/proc/{pid}/task")))


def openmp(launch: Launch) -> dict[str, str]:
    return {k: v for k, v in launch.env.items() if k.startswith(("OMP_", "KMP_", "GOMP_", "LD_PRELOAD", "VLLM_CPU"))}


def flat(value: Any, name: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{name}.{key}").items()}
    return {} if any(word in name for word in VARIES) else {name: str(value)}


async def facts(engine: Engine) -> dict[str, Any]:
    worker = worker_of(engine)
    async with httpx.AsyncClient(base_url=engine.launch.url, trust_env=False, timeout=60) as client:
        body = {"model": engine.launch.model, "prompt": list(range(1000, 1100)), "max_tokens": 16, "temperature": 0}
        text = (await client.post("/v1/completions", json=body)).json()["choices"][0]["text"]
        server = (await client.get("/server_info", params={"config_format": "json"})).json()
    return {
        "threads of the worker": len(os.listdir(f"/proc/{worker}/task")),
        "affinity of the worker": sorted(os.sched_getaffinity(worker)),
        "libgomp of the worker": "libgomp" in Path(f"/proc/{worker}/maps").read_text(),
        "answer": text,
        "configuration": flat(server["vllm_config"]),
        "environment": flat(server["vllm_env"]),
    }


@pytest.mark.matrix
async def test_a_warm_engine_equals_a_plain_one(
    real_launch: Callable[..., Launch], tmp_path: Path
) -> None:
    keeper = await Keeper.open()
    starters = Starters(keeper, tmp_path)
    seen: dict[str, dict[str, Any]] = {}
    took: dict[str, float] = {}
    await starters.ready(real_launch())
    for kind, warm in (("warm", starters), ("plain", None)):
        engine = Engine(real_launch(), keeper, tmp_path / f"{kind}.log", lambda event: None, warm=warm)
        await engine.start()
        assert engine.start_kind == kind and engine.start_s
        who = identities(engine.pids())
        seen[kind], took[kind] = await facts(engine), engine.start_s
        assert openmp(engine.launch)["LD_PRELOAD"]
        await engine.stop()
        assert not alive(who)
        assert health.port_is_free(engine.launch.host, engine.launch.port)
    # OpenBLAS (numpy's, scipy's, OpenCV's) starts its threads again only when it is used.
    pools = 3 * (int(openmp(real_launch())["OMP_NUM_THREADS"]) - 1)
    threads = {kind: told.pop("threads of the worker") for kind, told in seen.items()}
    assert threads["plain"] - pools <= threads["warm"] <= threads["plain"]
    for name, plainly in seen["plain"].items():
        assert seen["warm"][name] == plainly, name
    assert took["warm"] < took["plain"] / 2
    await keeper.close()
    assert not [proc for proc in kin.table().values() if proc.ppid == keeper.pid]


def footprint(keeper: Keeper, starter: int) -> dict[str, int]:
    """What launches must not leave behind."""
    return {
        "processes": len(kin.descendants(keeper.pid, kin.table())),
        "descriptors of the keeper": len(os.listdir(f"/proc/{keeper.pid}/fd")),
        "descriptors of the starter": len(os.listdir(f"/proc/{starter}/fd")),
        "shared memory": len(list(Path("/dev/shm").glob("psm_*"))),
        "rendezvous files": len(list(Path("/tmp").glob("vllm_dist_*"))),
    }


@pytest.mark.matrix
@pytest.mark.timeout(5400)
async def test_many_warm_launches_neither_hang_nor_pile_up(
    real_launch: Callable[..., Launch], tmp_path: Path
) -> None:
    keeper = await Keeper.open()
    starters = Starters(keeper, tmp_path)
    starter = (await starters.ready(real_launch())).pid
    after_first: dict[str, int] | None = None
    for number in range(int(os.environ.get("VTUNE_TEST_LAUNCHES", "200"))):
        log = tmp_path / f"{number}.log"
        engine = Engine(real_launch("max-num-seqs=2"), keeper, log, lambda event: None, warm=starters)
        await engine.start()
        assert engine.start_kind == "warm", f"launch {number}: {log.read_text()[-2000:]}"
        await engine.stop()
        after_first = after_first or footprint(keeper, starter)
    assert footprint(keeper, starter) == after_first
    await keeper.close()
