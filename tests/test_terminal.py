"""vtune in a real (pseudo) terminal: every way out leaves no engine and no held port.

The engine is the stand-in with an EngineCore and a worker process of its own, as vLLM has on a CPU.
"""

import signal
import sys
import time

import pytest
from made import members, runs
from terminal import PATIENCE, Terminal

from tui.session import folder, state


def engine_pids() -> list[int]:
    """Members of the engine that the newest session started."""
    engine = state.load(folder.existing()[-1]).engine
    assert engine is not None and engine.url is not None
    return members(engine.url)


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    """Whether all of them end in time; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not [pid for pid in pids if runs(pid)]:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def terminal(standin_profile):
    made = Terminal(standin_profile)
    yield made
    made.end()


@pytest.fixture
def ready(terminal):
    """A dashboard whose engine is ready, and the pids of that engine."""
    terminal.until("● ready")
    pids = engine_pids()
    assert len(pids) >= 2, "the stand-in should have a tree of processes"
    return terminal, pids


def test_q_quits_and_says_where_the_session_is(ready):
    terminal, pids = ready
    terminal.press("q")
    assert terminal.wait() == 0
    assert gone(pids)
    assert f"session {folder.existing()[-1]}" in terminal.plain
    assert state.load(folder.existing()[-1]).closed


def test_ctrl_c_quits(ready):
    terminal, pids = ready
    terminal.press("\x03")
    terminal.wait()
    assert gone(pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_ends_the_engine_too(ready, number):
    terminal, pids = ready
    terminal.process.send_signal(number)
    assert terminal.wait() == 128 + number
    assert gone(pids)
    assert state.load(folder.existing()[-1]).closed


def test_a_closed_terminal_ends_the_engine(ready):
    terminal, pids = ready
    terminal.close()
    assert terminal.process.wait(PATIENCE) is not None
    assert gone(pids)


def test_kill_9_leaves_no_engine_and_a_journal_that_opens(ready):
    terminal, pids = ready
    terminal.process.kill()
    terminal.process.wait()
    assert gone(pids)
    told = state.load(folder.existing()[-1])
    assert told.engine is not None and told.engine.state == "ready" and not told.closed


def test_a_failed_start_is_shown_and_leaves_nothing(standin_profile):
    text = standin_profile.read_text().replace('STANDIN_START_S: "0.1"', "STANDIN_REFUSE: block-size")
    standin_profile.write_text(text)
    terminal = Terminal(standin_profile)
    try:
        terminal.until("failed to start")
        terminal.until("cause")
        terminal.until("block-size")
        assert not [pid for pid in engine_pids() if runs(pid)]
        terminal.press("q")
        assert terminal.wait() == 0
    finally:
        terminal.end()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("prefix-caching: on", "prefix-cashing: on"), "prefix-cashing"),
        (("small.jsonl", "none.jsonl"), "no recording"),
    ],
    ids=["profile", "recording"],
)
def test_what_is_refused_leaves_the_screen_and_is_told_in_two_lines(standin_profile, change, told):
    standin_profile.write_text(standin_profile.read_text().replace(*change))
    terminal = Terminal(standin_profile)
    try:
        assert terminal.wait() == 2
        terminal.screen = terminal.screen.rpartition("\x1b[?1049l")[2]  # behind the alternate screen
        what, mend = (line.strip() for line in terminal.plain.splitlines() if line.strip())
        assert what.startswith("vtune: ") and told in what and mend.startswith("mend: ")
        assert "Traceback" not in terminal.plain and not folder.existing()
    finally:
        terminal.end()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_where_one_of_its_streams_is_a_file_the_screen_is_drawn_on_the_other(standin_profile, tmp_path, stream):
    line = f"{sys.executable} -m tui {standin_profile} {stream}>{tmp_path / 'file'}"
    terminal = Terminal(argv=["sh", "-c", line], size=(130, 40))
    try:
        terminal.until("● ready")
        assert "\x1b[40;" in terminal.screen  # drawn down to the last line: the size is the terminal's
        terminal.press("q")
        assert terminal.wait() == 0
        assert "\x1b[" not in (tmp_path / "file").read_text()
    finally:
        terminal.end()
