"""An engine's log that grows for days keeps its beginning and its end, and says how much of its middle is gone."""

import asyncio
import os
from pathlib import Path

import pytest

from tui.engine.inside import kin, logs
from tui.engine.keeper import Keeper
from tui.engine.startup import LogFollower


def numbered(first: int, last: int) -> str:
    return "".join(f"line {n} {'x' * 80}\n" for n in range(first, last))


def test_a_log_is_cut_in_place_and_every_line_is_accounted_for(tmp_path: Path) -> None:
    path = tmp_path / "engine-1.log"
    written = 0
    with path.open("a") as engine:  # appends, as the engine does, and keeps its descriptor
        for part in range(4):
            engine.write(numbered(written, written + 2_000))
            engine.flush()
            written += 2_000
            before = path.stat().st_size
            gone = logs.bound(str(path), most=100_000, head=10_000, tail=30_000)
            assert gone and path.stat().st_size < 45_000 < before
            assert logs.bound(str(path), most=100_000, head=10_000, tail=30_000) == 0
        engine.write("the last word\n")
        engine.flush()
    lines = path.read_text().splitlines()
    assert lines[0].startswith("line 0 ") and lines[-1] == "the last word"
    (mark,) = (line for line in lines if "left out" in line)
    left_out, dropped = logs.left_out(str(path))
    assert left_out + len(lines) - 2 == written  # the mark and the last word are no numbered lines
    assert f"{left_out:,} lines ({dropped:,} bytes)" in mark
    numbers = [int(line.split()[1]) for line in lines if line.startswith("line ")]
    assert numbers == sorted(set(numbers)) and numbers[-1] == written - 1


def test_a_log_that_is_small_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(numbered(0, 10))
    assert logs.bound(str(path)) == 0 and logs.left_out(str(path)) == (0, 0)
    assert logs.left_out(str(tmp_path / "none")) == (0, 0)


def test_who_follows_the_log_goes_on_behind_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "HEAD", 10_000)
    path = tmp_path / "log"
    path.write_text(numbered(0, 3_000))
    follower = LogFollower(path)
    assert len(list(follower.read())) == 3_000
    logs.bound(str(path), most=100_000, head=10_000, tail=30_000)
    with path.open("a") as log:
        log.write("Application startup complete\n")
    assert list(follower.read())[-1] == "Application startup complete"


@pytest.mark.skipif(not kin.HAVE_PROC, reason="needs /proc")
async def test_the_keeper_cuts_the_log_of_an_engine_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VTUNE_STATE", str(tmp_path / "state"))
    keeper = await Keeper.open()
    log = tmp_path / "out.log"
    line = "x" * 999
    script = f'echo begins; yes {line} | head -n {logs.MOST // 1_000 + 2_000}; echo "the end"; sleep 60'
    try:
        child = await keeper.launch("one", ["sh", "-c", script], dict(os.environ), log)
        async with asyncio.timeout(30):
            while not logs.left_out(str(log))[0] or b"the end" not in log.read_bytes()[-100:]:
                await asyncio.sleep(0.1)
        assert log.stat().st_size < logs.HEAD + 2 * logs.TAIL and log.read_bytes().startswith(b"begins\n")
        await child.stop(1.0)
    finally:
        await keeper.close()
