"""What the keeper promises: nothing that it started outlives its owner, and it ends only its own."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from processes import alive, identities, settled, wait_gone

from tui import paths
from tui.engine.inside import kin
from tui.engine.keeper import Child, Ending, Keeper
from tui.errors import VtuneError

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")


async def unruly(keeper: Keeper, folder: Path, *modes: str, name: str = "one") -> tuple[Child, set[tuple[int, int]]]:
    log = folder / f"{name}.log"
    child = await keeper.launch(name, [sys.executable, str(HERE / "unruly.py"), *modes], dict(os.environ), log)
    return child, identities(await settled(log))


async def test_exit_codes_signals_and_log(keeper: Keeper, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "WORD": "kept"}
    log = tmp_path / "out.log"
    script = 'echo "$WORD $VTUNE_LAUNCH"; echo error >&2; pwd; read line || echo "no input"; exit 3'
    child = await keeper.launch("a", ["sh", "-c", script], env, log, cwd=tmp_path)
    assert await child.exited == Ending(code=3)
    assert log.read_text().split("\n")[:4] == ["kept a", "error", str(tmp_path), "no input"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    killed = await keeper.launch("b", ["sh", "-c", "kill -9 $$"], env, log)
    assert (await killed.exited).words == "killed by SIGKILL"
    assert log.read_text().startswith("kept a")  # appended


async def test_a_program_that_cannot_run_is_refused(keeper: Keeper, tmp_path: Path) -> None:
    with pytest.raises(VtuneError, match="No such file or directory: /no/such/python"):
        await keeper.launch("a", ["/no/such/python"], {}, tmp_path / "log")
    with pytest.raises(VtuneError, match="No such file or directory: /no/such/folder"):
        await keeper.launch("b", [sys.executable], {}, tmp_path / "log", cwd=Path("/no/such/folder"))
    with pytest.raises(VtuneError, match="No such file"):
        await keeper.launch("c", [sys.executable], {}, tmp_path / "missing" / "log")


async def test_members_have_their_own_session_and_no_descriptors(keeper: Keeper, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "import os; print(os.getsid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd')))"
    child = await keeper.launch("a", [sys.executable, "-c", script], dict(os.environ), log)
    await child.exited
    assert log.read_text() == "True ['0', '1', '2', '3']\n"  # 3 reads the directory


@pytest.mark.parametrize(
    "modes",
    [
        ["child"],
        ["session"],
        ["deaf", "child"],
        ["deaf-child", "deaf-session"],
        ["stopped-child"],
        ["stopped", "child", "session"],
        ["child", "session", "deaf-session", "stopped-child", "deaf"],
    ],
    ids="-".join,
)
async def test_stop_leaves_no_member(keeper: Keeper, tmp_path: Path, modes: list[str]) -> None:
    child, who = await unruly(keeper, tmp_path, *modes)
    assert set(child.members()) >= {pid for pid, _ in who}
    await asyncio.wait_for(child.stop(grace_s=0.5), 8)
    assert not alive(who)
    assert child.exited.done()


async def test_term_comes_before_kill(keeper: Keeper, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "trap 'echo farewell; exit 5' TERM; echo up; while :; do sleep 0.05; done"
    child = await keeper.launch("a", ["sh", "-c", script], dict(os.environ), log)
    while "up" not in (log.read_text() if log.exists() else ""):
        await asyncio.sleep(0.02)
    await child.stop(grace_s=5)
    assert await child.exited == Ending(code=5)
    assert "farewell" in log.read_text()


async def test_what_a_leader_leaves_behind_is_ended(keeper: Keeper, tmp_path: Path) -> None:
    child, who = await unruly(keeper, tmp_path, "child", "session", "leave")
    assert await child.exited == Ending(code=7)
    await asyncio.wait_for(asyncio.shield(child.gone), 6)
    assert not alive(who)


async def test_stopping_one_launch_leaves_the_other(keeper: Keeper, tmp_path: Path) -> None:
    first, who = await unruly(keeper, tmp_path, "session", "child", name="first")
    second, others = await unruly(keeper, tmp_path, "session", "child", name="second")
    await first.stop(0.5)
    assert not alive(who)
    assert alive(others) == others
    assert set(second.members()) == {pid for pid, _ in others}


async def test_a_daemon_without_any_trace_ends_with_the_keeper(tmp_path: Path) -> None:
    keeper = await Keeper.open()
    _, who = await unruly(keeper, tmp_path, "daemon")
    await keeper.close()
    assert not alive(who)


async def test_shared_memory_of_a_killed_launch_is_removed(keeper: Keeper, tmp_path: Path) -> None:
    child, _ = await unruly(keeper, tmp_path, "deaf", "shm")
    path = next(Path(line.split()[1]) for line in (tmp_path / "one.log").read_text().splitlines() if "shm" in line)
    assert path.exists()
    await child.stop(0.2)
    assert not path.exists()


async def test_rendezvous_file_named_in_the_log_is_removed(keeper: Keeper, tmp_path: Path) -> None:
    store, precious = tmp_path / f"vllm_dist_{'a' * 32}", tmp_path / "vllm_dist_precious"
    store.write_text("x")
    precious.write_text("x")
    script = f"echo 'distributed_init_method=file://{store} backend=gloo'; echo file://{precious}"
    child = await keeper.launch("a", ["sh", "-c", script], dict(os.environ), tmp_path / "log")
    await child.gone
    assert not store.exists() and precious.exists()


async def test_adopted_server_is_reaped_and_stopped_by_itself(keeper: Keeper, tmp_path: Path) -> None:
    script = """
import os, sys, time
def forked():
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.read(reader, 1)
            time.sleep(600) if sys.argv[1] == "stay" else os._exit(9)
        start = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[19]
        print("forked", pid, start, flush=True)
        os._exit(0)
    os.waitpid(middle, 0)
    return writer
writer = forked()
os.write(writer, b"x")
time.sleep(600)
"""
    for word, name in (("stay", "server"), ("leave", "quick")):
        log = tmp_path / f"{name}.log"
        starter = await keeper.launch(f"starter-{name}", [sys.executable, "-c", script, word], dict(os.environ), log)
        while not (log.exists() and "forked" in log.read_text()):
            await asyncio.sleep(0.02)
        pid, start = (int(part) for part in log.read_text().split()[1:3])
        if word == "stay":
            server = await keeper.adopt(name, pid, start, log)
            assert starter.members() == [starter.pid]
            await server.stop(1)
            assert (await server.exited).signal == signal.SIGTERM
        else:
            while kin.read(pid):
                await asyncio.sleep(0.02)
            server = await keeper.adopt(name, pid, start, log)
            assert await server.exited == Ending(code=9)
        assert not starter.exited.done()


async def test_a_stranger_is_not_adopted(keeper: Keeper, tmp_path: Path) -> None:
    me = kin.read(os.getpid())
    assert me
    with pytest.raises(VtuneError, match="not a descendant"):
        await keeper.adopt("a", me.pid, me.start, tmp_path / "log")


@pytest.mark.parametrize(
    ("number", "modes"),
    [
        (signal.SIGKILL, ["deaf", "deaf-session", "stopped-child", "daemon"]),
        (signal.SIGKILL, ["heir", "child"]),
        (signal.SIGKILL, ["child", "session"]),
        (signal.SIGTERM, ["child", "session"]),
        (signal.SIGHUP, ["child", "session"]),
        (signal.SIGINT, ["child", "session"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else value.name,
)
def test_nothing_outlives_the_owner(tmp_path: Path, number: signal.Signals, modes: list[str]) -> None:
    owner = subprocess.Popen(
        [sys.executable, str(HERE / "owner.py"), str(tmp_path), *modes],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout
    told = json.loads(owner.stdout.readline())
    who = identities([told["keeper"], *told["pids"]])
    owner.send_signal(number)
    owner.wait(5)
    left = wait_gone(who, 8)
    if told["heir"]:
        os.kill(told["heir"], signal.SIGKILL)
    assert not left
    assert not list((paths.state() / "engines").iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_to_the_keeper_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    keeper = await Keeper.open()
    child, who = await unruly(keeper, tmp_path, "child", "session", "stopped-child")
    os.kill(keeper.pid, number)
    await asyncio.wait_for(asyncio.shield(keeper.lost), 8)
    assert not alive(who)
    assert child.gone.done()
    with pytest.raises(VtuneError, match="keeper"):
        await keeper.launch("b", ["true"], {}, tmp_path / "log")


async def test_a_killed_keeper_is_noticed_and_its_engines_are_ended(tmp_path: Path) -> None:
    keeper = await Keeper.open()
    child, who = await unruly(keeper, tmp_path, "deaf", "session", "deaf-session")
    os.kill(keeper.pid, signal.SIGKILL)
    await asyncio.wait_for(asyncio.shield(keeper.lost), 8)
    assert (await child.exited).words == "ended unseen"
    assert not alive(who)


async def test_state_file_names_what_runs(keeper: Keeper, tmp_path: Path) -> None:
    child, _ = await unruly(keeper, tmp_path, "child")
    (file,) = (paths.state() / "engines").iterdir()
    state = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert state["owner"]["pid"] == os.getpid() and state["keeper"]["pid"] == keeper.pid
    assert [(one["id"], one["pid"], one["start"]) for one in state["launches"]] == [("one", child.pid, child.start)]
    await child.stop(1)
    assert json.loads(file.read_text())["launches"] == []
    await keeper.close()
    assert not file.exists()
