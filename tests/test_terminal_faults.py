"""What goes wrong in a terminal while something goes on; the law of tests/test_faults.py holds after each row."""

import select
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from faults import answered, settled
from made import left, runs, wait_until, write_recording
from terminal import PATIENCE, Terminal

from tui.session import folder, state
from tui.session.state import State

# A shell with job control: when its job is suspended it says so, waits to be told, and takes the job up again.
SUSPENDING = "{command}; echo SUSPENDED; until [ -e {resume} ]; do sleep 0.1; done; fg; echo LEFT $?"


def told() -> State | None:
    """What the newest session's journal tells by now."""
    found = folder.existing()
    return state.load(found[-1]) if found and (found[-1] / "journal.jsonl").stat().st_size else None


def when(terminal: Terminal, wanted) -> State:
    """Keep the terminal flowing until the journal tells a state that `wanted` accepts."""
    def reached() -> bool:
        terminal.read(0.01)
        assert terminal.process.poll() is None, terminal.plain[-2000:]
        return (now := told()) is not None and bool(wanted(now))

    wait_until(reached, PATIENCE)
    now = told()
    assert now is not None
    return now


@pytest.fixture
def open_terminal():
    made = []

    def start(*words: str | Path, argv: list[str] | None = None) -> Terminal:
        made.append(Terminal(*words, argv=argv))
        return made[-1]

    yield start
    for one in made:
        one.end()


@pytest.fixture
def replaying(open_terminal, standin_profile, slow):
    """A dashboard whose replay has had an answer."""
    terminal = open_terminal(standin_profile, "--recording", slow)
    terminal.until("● ready")
    terminal.press("r")
    when(terminal, answered)
    return terminal


def test_ctrl_c_while_starting(open_terminal, standin_profile, tmp_path):
    terminal = open_terminal(standin_profile, "--set", "engine.env.STANDIN_STUCK=start")
    when(terminal, lambda s: s.engine and s.engine.phases)
    terminal.press("\x03")
    assert terminal.wait() == 0
    after = settled(tmp_path, folder.existing()[-1])
    assert after.closed and after.engine.state == "stopped" and "ending the engine" in terminal.plain


@pytest.mark.matrix
def test_ctrl_c_while_a_replay_runs(replaying, tmp_path):
    replaying.press("\x03")
    assert replaying.wait() == 0
    after = settled(tmp_path, folder.existing()[-1])
    assert after.closed and after.runs[1].state == "cancelled" and after.runs[1].result["requests"]["ok"] >= 1


@pytest.mark.matrix
def test_ctrl_c_again_while_an_engine_that_ignores_term_is_stopping(open_terminal, standin_profile, tmp_path):
    terminal = open_terminal(standin_profile, "--set", "engine.env.STANDIN_STUCK=term")
    terminal.until("● ready")
    terminal.press("\x03")
    when(terminal, lambda s: s.engine.state == "stopping")
    terminal.press("\x03")
    assert terminal.wait() == 130
    settled(tmp_path, folder.existing()[-1])


def test_the_terminal_is_closed_while_a_replay_runs(replaying, tmp_path):
    before = len(told().runs[1].finished)
    replaying.close()
    replaying.process.wait(PATIENCE)
    after = settled(tmp_path, folder.existing()[-1])
    assert after.closed and after.runs[1].state == "cancelled" and len(after.runs[1].finished) >= before


def test_the_terminal_of_a_headless_replay_is_closed(open_terminal, standin_profile, slow, tmp_path):
    terminal = open_terminal("replay", slow, "--profile", standin_profile)
    when(terminal, answered)
    terminal.close()
    assert terminal.process.wait(PATIENCE) == 130
    after = settled(tmp_path, folder.existing()[-1])
    assert after.closed and after.runs[1].state == "cancelled" and after.runs[1].result["requests"]["ok"] >= 1


def test_kill_9_while_an_arm_is_parked(open_terminal, standin_profile, tmp_path):
    terminal = open_terminal(standin_profile)
    terminal.until("● ready")
    terminal.press(" ")
    when(terminal, lambda s: s.pending)
    terminal.press("a")
    before = when(terminal, lambda s: s.engine.number != 1 and s.engine.state == "ready")
    assert before.engines[1].state == "parked" and len(left(tmp_path)) >= 6
    terminal.process.kill()
    terminal.process.wait()
    after = settled(tmp_path, folder.existing()[-1])
    # Only a last look at the engine may still have been told; all else is as it was.
    looked = {"scrape": None, "memory_bytes": None, "gpu_bytes": None}
    known = [{n: replace(engine, **looked) for n, engine in s.engines.items()} for s in (before, after)]
    assert not after.closed and known[0] == known[1]


@pytest.mark.parametrize("door", [pytest.param("replay", marks=pytest.mark.matrix), "dashboard"])
def test_ctrl_z_and_back_loses_nothing(open_terminal, standin_profile, slow, tmp_path, door):
    words = {"replay": ["replay", slow, "--profile", standin_profile, "--limit", "40"],
             "dashboard": [standin_profile, "--recording", slow, "--limit", "40"]}[door]  # fmt: skip
    command, resume = " ".join([sys.executable, "-m", "tui", *map(str, words)]), tmp_path / "resume"
    script = SUSPENDING.format(command=command, resume=resume)
    terminal = open_terminal(argv=["bash", "-m", "-c", script])
    if door == "dashboard":
        terminal.until("● ready")
        terminal.press("r")
    when(terminal, answered)
    terminal.press("\x1a")
    terminal.until("SUSPENDED")
    # The replay goes on while vtune itself sleeps: its file grows.
    run_file, seen = folder.existing()[-1] / "run-1.jsonl", len(told().runs[1].finished)
    wait_until(lambda: len(run_file.read_text().splitlines()) > seen + 5)
    assert told().engine.state == "ready" and runs(told().engine.pid)
    resume.touch()
    if door == "dashboard":
        terminal.until("★ baseline")  # before, the screen would ask whether to end the replay
        terminal.press("q")
    terminal.until("LEFT 0")
    after = settled(tmp_path, folder.existing()[-1])
    assert after.runs[1].state == "done" and after.runs[1].result["requests"]["ok"] == 40
    assert len(after.runs[1].finished) == 40


def test_a_terminal_that_takes_nothing_for_a_while_holds_nothing_up(open_terminal, standin_profile, tmp_path):
    """An ssh that hangs: the session goes on, and what the screen missed is drawn when it can be."""
    quick = write_recording(tmp_path / "quick.jsonl", requests=40, max_tokens=400)
    terminal = open_terminal(standin_profile, "--recording", quick, "--pace", "closed:1")
    terminal.until("● ready")
    terminal.press("r" + "?\x1b" * 200)  # drawn again and again, more than any buffer takes
    wait_until(lambda: (now := told()) is not None and now.runs and now.runs[1].state == "done", PATIENCE)
    terminal.screen = ""
    terminal.press("l")
    terminal.until("following")
    # And when it is closed while it hangs.
    terminal.press("?\x1b" * 200)
    wait_until(lambda: select.select([terminal.master], [], [], 0)[0], PATIENCE)
    terminal.close()
    terminal.process.wait(PATIENCE)
    assert settled(tmp_path, folder.existing()[-1]).closed
