"""What goes wrong, row by row. After each: no process is left after 10 seconds, the port is free, the session opens
and holds all that happened before, and stderr or the screen told the cause.

The engine is the stand-in with an EngineCore and a worker process of its own; `vtune` is the real program.
"""

import os
import resource
import signal
import socket

import pytest
from faults import Vtune, settled
from made import left, members, runs, wait_until

from tui.engine import health
from tui.engine.inside import kin
from tui.traffic.replay import read_outcomes

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
long = pytest.mark.matrix
EACH = [pytest.param(n, id=n.name, marks=() if n == signal.SIGTERM else long) for n in SIGNALS]


@pytest.fixture
def vtune(tmp_path, standin_profile, slow):
    """Starts `vtune replay` on the slow recording."""
    made = []

    def start(*words: str) -> Vtune:
        made.append(Vtune(tmp_path, standin_profile, slow, *words))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.wait()


@pytest.mark.parametrize("number", EACH)
def test_a_signal_while_starting(vtune, number):
    running = vtune("--set", "engine.env.STANDIN_STUCK=start")
    running.starting()
    assert running.end(number) == 130
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.engine.state == "stopped" and "interrupted" in running.stderr


def test_a_hangup_is_ignored_under_nohup(vtune):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the child inherits it
    try:
        running = vtune("--set", "engine.env.STANDIN_START_S=5")
    finally:
        signal.signal(signal.SIGHUP, before)
    running.starting()
    phases = len(running.told.engine.phases)
    running.process.send_signal(signal.SIGHUP)
    running.until(lambda s: len(s.engine.phases) > phases)
    assert running.end(signal.SIGTERM) == 130
    settled(running.tmp_path, running.folder)


@pytest.mark.parametrize("number", EACH)
def test_a_signal_while_a_replay_runs(vtune, number):
    running = vtune()
    running.replaying()
    before = len(running.told.runs[1].finished)
    assert running.end(number) == 130
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.runs[1].state == "cancelled" and "interrupted" in running.stderr
    assert len(told.runs[1].finished) >= before and told.runs[1].result["requests"]["ok"] >= 1


@pytest.mark.matrix
def test_a_signal_while_a_run_is_being_prepared(vtune):
    running = vtune("--set", "engine.env.STANDIN_BASE_MS=4000")
    running.until(lambda s: s.running)
    assert running.end(signal.SIGTERM, 6) == 130
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.runs[1].state == "cancelled" and not told.runs[1].finished


@long
@pytest.mark.parametrize("second", SIGNALS, ids=lambda n: n.name)
def test_a_second_signal_while_an_engine_that_ignores_term_is_stopping(vtune, second):
    running = vtune("--set", "engine.env.STANDIN_STUCK=term")
    running.replaying()
    running.process.send_signal(signal.SIGINT)
    running.until(lambda s: s.engine.state == "stopping")
    assert running.end(second, 15) == 130
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.engine.state == "stopped" and "interrupted" in running.stderr


def test_kill_9_while_a_replay_runs(vtune):
    port = health.free_port()
    running = vtune("--set", f"engine.front-port={port}")
    running.replaying()
    before = len(running.told.runs[1].finished)
    assert running.end(signal.SIGKILL) == -9
    told = settled(running.tmp_path, running.folder)
    assert not told.closed and told.running == 1 and len(told.runs[1].finished) >= before
    _, outcomes, end = read_outcomes(running.folder / "run-1.jsonl")
    assert len([one for one in outcomes if one.status == "ok"]) >= before
    assert end is not None and end["kind"] == "orphaned"
    assert health.port_is_free("127.0.0.1", port)


@long
def test_the_keeper_is_killed(vtune):
    running = vtune()
    running.replaying()
    keeper = kin.read(running.told.engine.pid).ppid
    os.kill(keeper, signal.SIGKILL)
    assert running.process.wait(15) == 3
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.engine.state == "died" and told.runs[1].result["requests"]["ok"] >= 1
    assert "the keeper" in running.stderr


def test_the_replay_child_is_killed(vtune):
    running = vtune()
    running.replaying()
    before = len(running.told.runs[1].finished)
    os.kill(running.replay_child(), signal.SIGKILL)
    code = running.process.wait(15)
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.runs[1].state == "died" and told.runs[1].result["requests"]["ok"] >= before
    assert "replay" in running.stderr and "signal 9" in running.stderr
    assert code == 1


@long
@pytest.mark.parametrize("who", ["api server", "engine core", "worker"])
def test_a_process_of_the_engine_is_killed(vtune, who):
    running = vtune()
    running.replaying()
    engine = running.told.engine
    tree = [engine.pid, *sorted(set(members(engine.url)) - {engine.pid})]
    assert len(tree) == 3
    os.kill(tree[["api server", "engine core", "worker"].index(who)], signal.SIGKILL)
    assert running.process.wait(15) == 3
    told = settled(running.tmp_path, running.folder)
    assert told.closed and told.engine.state == "died" and told.runs[1].result["requests"]["ok"] >= 1
    assert "killed" in running.stderr and "mend:" in running.stderr


@pytest.mark.matrix
def test_an_engine_that_is_stopped_and_hangs_is_ended_with_all_it_has(vtune):
    running = vtune()
    running.replaying()
    pids = members(running.told.engine.url)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    assert running.end(signal.SIGINT, 15) == 130
    told = settled(running.tmp_path, running.folder)
    assert told.closed and not [pid for pid in pids if runs(pid)]


def test_the_disk_is_full_for_the_journal(vtune):
    running = vtune("--limit", "12")
    running.until(lambda s: s.running and s.runs[1].state == "running")
    # The limit is that of vtune's own process; the replay and the engine go on writing.
    size = os.path.getsize(running.folder / "journal.jsonl")
    hard = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size + 100, hard))
    assert running.process.wait(30) == 0
    told = settled(running.tmp_path, running.folder)
    assert told.running == 1 and not told.closed
    assert "journal can't be written" in running.stderr and "free space" in running.stderr
    assert len(read_outcomes(running.folder / "run-1.jsonl")[1]) == 12


@long
def test_the_disk_is_full_for_the_answers_too(vtune):
    running = vtune()
    running.until(lambda s: s.running)
    hard = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)[1]
    size = os.path.getsize(running.folder / "journal.jsonl")
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size + 500, hard))
    running.process.wait(30)
    settled(running.tmp_path, running.folder)
    assert "journal can't be written" in running.stderr and "Traceback" not in running.stderr


@pytest.mark.parametrize(("setting", "code"), [("engine.port", 3), ("engine.front-port", 2)])
def test_a_port_that_is_taken_is_named(vtune, setting, code):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        running = vtune("--set", f"{setting}={port}")
        assert running.process.wait(20) == code
        wait_until(lambda: not left(running.tmp_path), 10)
    assert settled(running.tmp_path, running.folder).closed
    assert f"port {port}" in running.stderr and "mend:" in running.stderr
