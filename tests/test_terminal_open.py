"""A kept session in a real terminal: opened through the door, sought, asked to replay, left."""

import pytest
from screen.made_kept import kept
from terminal import Terminal


@pytest.fixture
def terminal():
    opened: list[Terminal] = []
    yield lambda *words, **env: opened.append(Terminal(*words, **env)) or opened[-1]
    for one in opened:
        one.end()


def test_it_opens_seeks_refuses_and_leaves(terminal, tmp_path):
    folder = kept(tmp_path / "s")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shown = terminal("open", str(folder))
    shown.until("REOPENED 2026-09-21 12:00")
    shown.until("the session was closed")
    shown.press("g]")
    shown.until("run 1 begins")
    shown.press("r")
    shown.until("can't replay")
    shown.press("q")
    assert shown.wait() == 0 and "Traceback" not in shown.plain
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
