"""Sessions on a GPU that is made of scripts (see made_gpu): what surrounds an engine's start there.

Not run on a GPU.
"""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from made import left, members, runs
from made_gpu import UNUSABLE, MadeGpu

from tui.engine import kv_pool
from tui.engine import profile as profiles
from tui.engine.profile_set import with_settings
from tui.errors import VtuneError
from tui.session import gpu_memory
from tui.session.change import describe_change
from tui.session.session import Session
from tui.session.traffic import traffic_of

POOL = str(int(55.45 * 1024) * 2**20)


@pytest.fixture
def gpu(tmp_path, monkeypatch) -> MadeGpu:
    made = MadeGpu(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(gpu_memory, "LOOK_S", 0.01)
    return made


@pytest.fixture
async def make(standin_profile, tmp_path, gpu):
    made = []

    def session(*settings: str) -> Session:
        # The stand-in says that it runs on a CPU, where engines are parked.
        own = ["engine.head-start=off", "engine.park=0", f"engine.python={gpu.python}", "kv-pool=auto"]
        profile = with_settings(profiles.load(str(standin_profile)), [*own, *settings])
        made.append(Session(profile, traffic_of(profile), tmp_path / f"session-{len(made)}"))
        return made[-1]

    yield session
    for one in made:
        await one.close()


async def serve(session: Session, **levers: str) -> None:
    for name, value in levers.items():
        session.set_lever(name.replace("_", "-"), value)
    await session.apply()
    await session.ready()


async def started(session: Session) -> Session:
    await session.start()
    await session.ready()
    return session


def pools(session: Session) -> list[str | None]:
    """What each engine was told on its command line."""
    flag = "--kv-cache-memory-bytes"
    found = (engine.argv for engine in session.state.engines.values())
    return [argv[argv.index(flag) + 1] if flag in argv else None for argv in found]


def said(session: Session) -> list[str]:
    return [notice["what"] for notice in session.state.notices]


async def test_arms_get_the_pool_of_the_first_and_a_share_of_their_own_is_left_to_vllm(make):
    session = await started(make())
    await serve(session, max_num_seqs="64")
    engine = session.state.engine
    assert engine.asked[kv_pool.PINNED] == POOL and not engine.mismatches
    assert describe_change(session.state.engines[1].asked, engine.asked) == "max-num-seqs 64"
    assert any("55.45 GiB" in what and "pin-kv-pool" in what for what in said(session))
    await serve(session, kv_pool="80%")
    await serve(session, kv_pool="auto")
    assert pools(session) == [None, POOL, None, POOL]
    assert not session.state.pending


async def test_a_start_that_finds_no_room_beside_a_pinned_pool_names_the_pin(make, monkeypatch):
    session = await started(make())
    monkeypatch.setenv("GPU_FULL", "1")  # for whoever is given a pool
    with pytest.raises(VtuneError) as refusal:
        await serve(session, max_num_seqs="64")
    assert "out of memory" in refusal.value.what
    assert "55.45 GiB" in refusal.value.mend and "engine.pin-kv-pool: off" in refusal.value.mend


def loads_from(session: Session) -> list[str]:
    """The socket folder that each engine maps its weights from; "disk" where none."""
    found = []
    for engine in session.state.engines.values():
        flags = dict(zip(engine.argv, engine.argv[1:], strict=False))
        mapped = flags.get("--load-format") == "ipc_cache"
        found.append(json.loads(flags["--model-loader-extra-config"])["socket_dir"] if mapped else "disk")
    return found


def daemons(tmp_path: Path) -> list[int]:
    """The living preload processes of this test."""
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in left(tmp_path)}
    return [pid for pid, argv in words.items() if b"preload" in argv]


async def test_weights_are_preloaded_once_and_mapped_by_every_engine(make, tmp_path):
    session = await started(make("engine.preload=on"))
    (daemon,) = daemons(tmp_path)
    await serve(session, max_num_seqs="64")
    assert pools(session) == [None, POOL]
    first, second = loads_from(session)
    assert first == second != "disk" and Path(first).stat().st_mode & 0o777 == 0o700
    assert daemons(tmp_path) == [daemon]
    assert "READY" in (session.folder / "preload-1.log").read_text()
    await session.close()
    assert not runs(daemon) and not Path(first).exists()


async def test_a_daemon_that_fails_is_told_with_its_cause_and_the_engine_starts_from_disk(make, monkeypatch):
    monkeypatch.setenv("GPU_PRELOAD_FAILS", "1")
    session = await started(make("engine.preload=on"))
    await serve(session, max_num_seqs="64")
    assert loads_from(session) == ["disk", "disk"]
    warnings = [notice["what"] for notice in session.state.notices if notice["level"] == "warning"]
    assert len(warnings) == 1, "tried once, not for every arm"
    assert "AWQMarlinLinearMethod does not support" in warnings[0]


async def test_a_daemon_that_died_is_told_and_the_next_engine_starts_from_disk(make, tmp_path):
    session = await started(make("engine.preload=on"))
    os.kill(daemons(tmp_path)[0], signal.SIGKILL)
    await serve(session, max_num_seqs="64")
    assert loads_from(session)[1] == "disk"
    assert any("SIGKILL" in what and "from disk" in what for what in said(session))


async def test_an_engine_that_can_not_map_the_weights_says_so(make, monkeypatch):
    monkeypatch.setenv("GPU_UNUSABLE", "1")
    session = await started(make("engine.preload=on"))
    assert UNUSABLE in session.state.engine.warnings


async def test_an_arm_in_other_parts_has_its_weights_preloaded_anew(make, tmp_path, gpu):
    gpu.gpus = 2
    gpu.set(1000)
    session = await started(make("engine.preload=on"))
    (first,) = daemons(tmp_path)
    await serve(session, tensor_parallel="2")
    (second,) = daemons(tmp_path)
    assert not runs(first) and b"--tensor-parallel-size" in Path(f"/proc/{second}/cmdline").read_bytes()
    assert loads_from(session)[0] != loads_from(session)[1]


async def test_memory_that_is_not_back_refuses_the_start_and_the_session_goes_on(make, gpu):
    session = await started(make())
    session.host._gpu.memory._limit_s = 0.2
    pid = members(session.state.engine.url)[0]
    gpu.set(50_000, apps=[(pid, 49_000, "VLLM::EngineCore")])
    with pytest.raises(VtuneError, match=f"not back .* pid {pid}"):
        await serve(session, max_num_seqs="64")
    assert session.state.engines[2].state == "failed" and not members(session.state.engines[1].url)
    gpu.set(1_000)
    await session.restart()
    await session.ready()
    assert session.state.engine.state == "ready"


async def test_somebody_elses_memory_is_a_warning_of_the_engine(make, gpu):
    session = await started(make())
    gpu.set(5_096, apps=[(1, 4_096, "train.py")])
    await serve(session, max_num_seqs="64")
    assert any("pid 1 (train.py) holds 4.0 GiB" in text for text in session.state.engine.warnings)
