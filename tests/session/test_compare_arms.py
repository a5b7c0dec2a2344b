"""`vtune compare` from the door to the report, on the stand-in."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from made import left, wait_until, write_recording
from standin.fixture import INTERPRETER

from tui.cli import main
from tui.session import report
from tui.session import state as states
from tui.session.compare.summary import lines

REQUESTS = 24


@pytest.fixture
def compare(standin_profile, tmp_path):
    """Runs the command; returns its exit code and the comparison that it wrote."""
    write_recording(tmp_path / "small.jsonl", REQUESTS)

    def run(*words: str, name: str = "c") -> tuple[int, dict]:
        out, session = tmp_path / f"{name}.json", tmp_path / f"session-{name}"
        code = main(["compare", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile), "--session",
                     str(session), "--json", str(out), *words])  # fmt: skip
        return code, json.loads(out.read_text())

    return run


def words_of(found: dict) -> dict[tuple[str, str], str]:
    return {(row["metric"], row["split"]): row["word"] for row in found["verdicts"]}


def test_prefix_caching_is_faster_because_of_its_hits(compare, tmp_path, capsys):
    code, found = compare("--vary", "prefix-caching=off,on", "--rounds", "2", "--report", str(tmp_path / "c.md"))
    assert code == 0
    words = words_of(found)
    assert words["ttft_s.p50", "all"] == words["ttft_s.p50", "warm"] == "faster"
    assert words["ttft_s.p50", "cold"] == "too few"  # the first request alone
    verdict = next(row for row in found["verdicts"] if row["metric"] == "ttft_s.p50" and row["split"] == "warm")
    assert verdict["ci"][1] < 0.8 and "hit rate from off to" in verdict["why"] and not verdict["flags"]
    off, on = found["arms"]
    assert off["levers"] == {"prefix-caching": "off"} and found["complete"] and len(on["runs"]) == 4
    assert {run["engine"]["applied"]["prefix-caching"] for run in on["runs"]} == {"on"}
    assert off["start"] == on["start"] == ["plain"]
    # The answers are the same, also where one prompt is computed and then comes from the cache.
    checked = found["output_check"]
    assert checked["word"] == "equal" and checked["arms"][0]["greedy"]["equal"] == REQUESTS
    control = checked["cold_warm"]
    assert (control["arm"], control["n"], control["equal"]) == ("prefix-caching=on", 3, 3)
    # An engine of its own for every replay, in the order that was planned.
    state = states.load(tmp_path / "session-c")
    assert [run.engine for run in state.runs.values()] == list(range(1, 9))
    assert [run.label for run in state.runs.values()] == found["order"]
    assert report.compared(tmp_path / "session-c") == found
    assert "**faster**" in (tmp_path / "c.md").read_text()
    said = capsys.readouterr()
    assert "8 starts of" in said.err and "about" in said.err
    assert not left(tmp_path)


@pytest.mark.matrix
def test_a_lever_that_does_nothing_shows_no_difference(compare):
    """At 5 % one comparison in twenty may claim one; two in a row are one in four hundred."""
    for attempt in range(2):
        code, found = compare("--vary", "max-num-seqs=64,65", name=f"aa-{attempt}")
        assert code == 0
        if not {"faster", "slower"} & set(words_of(found).values()):
            break
    else:
        pytest.fail(json.dumps(found["verdicts"]))
    assert words_of(found)["ttft_s.p50", "all"] == "no difference seen"


@pytest.mark.matrix
def test_a_target_that_an_arm_misses_fails_the_gate(compare):
    code, found = compare("--vary", "max-num-seqs=64,65", "--set", "targets.ttft-p95=1us", "--limit", "20", "--gate")
    assert code == 4 and [arm["targets"][0]["met"] for arm in found["arms"]] == [False, False]


def test_an_arm_that_does_not_start_leaves_what_was_measured(compare, monkeypatch, tmp_path, capsys):
    from tui.session.session import Session

    served = Session.serve

    async def refuse(self, profile):
        # vLLM refuses the second arm: the stand-in dies with vLLM's own log.
        if profile.levers["max-num-seqs"] == "65":
            monkeypatch.setenv("STANDIN_REFUSE", "block-size")
        await served(self, profile)

    monkeypatch.setattr(Session, "serve", refuse)
    code, found = compare("--vary", "max-num-seqs=64,65")
    assert code == 3 and len(found["arms"][0]["runs"]) == 1 and not found["complete"]
    assert set(words_of(found).values()) == {"too few"}
    assert "16" in capsys.readouterr().err
    assert not left(tmp_path)


def test_an_interruption_keeps_what_was_measured(standin_profile, tmp_path):
    write_recording(tmp_path / "small.jsonl", REQUESTS)
    session, out = tmp_path / "s", tmp_path / "c.json"
    words = [sys.executable, "-m", "tui", "compare", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile),
             "--vary", "prefix-caching=off,on", "--session", str(session), "--json", str(out)]  # fmt: skip
    process = subprocess.Popen(words, stderr=subprocess.PIPE, env=os.environ)
    try:
        journal = session / "journal.jsonl"
        wait_until(lambda: journal.is_file() and journal.read_text().count('"e":"run-end"') >= 2, 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
    found = json.loads(out.read_text())
    assert not found["complete"] and any("missing or were cut short" in words for words in found["caveats"])
    first = found["verdicts"][0]
    assert first["word"] == "too few" and first["ratio"] < 0.8 and first["ci"] is None
    wait_until(lambda: not left(tmp_path))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "fewer than two arms"),
        (["--vary", "prefix-caching=on,perhaps"], "prefix-caching"),
        (["--vary", "prefix-caching=on,off", "--rounds", "0"], "--rounds"),
        (["--vary", "engine.python=/nowhere/python,auto"], "/nowhere/python"),
        (["--vary", "block-size=64,16"], "arm block-size=16: block-size=16: on CPU a KV block is a multiple of 32"),
        (["--vary", "speculative=off,suffix"], "arm speculative=suffix: speculative=suffix: needs the package"),
    ],
)
def test_what_can_not_be_compared_is_refused_before_anything_starts(standin_profile, tmp_path, capsys, words, what):
    begun = time.monotonic()
    recording = str(tmp_path / "small.jsonl")
    assert main(["compare", recording, "--profile", str(standin_profile), *words]) in (2, 3)
    assert what in capsys.readouterr().err and time.monotonic() - begun < 10
    assert not (tmp_path / "xdg-state" / "sessions").exists()


@pytest.mark.matrix
def test_an_interpreter_is_an_arm(compare, standin_profile, tmp_path):
    """Two installs of vLLM: here the same stand-in behind two paths."""
    other = tmp_path / "other-python"
    other.write_text(f'#!/bin/sh\nSTANDIN_VERSION=0.33.1 STANDIN_BASE_MS=150 exec "{INTERPRETER}" "$@"\n')
    other.chmod(0o755)
    arms = ("--vary", f"engine.python={INTERPRETER},{other}", "--limit", "20")
    code, found = compare(*arms, "--report", str(tmp_path / "r.md"))
    assert code == 0 and found["arms"][1]["levers"] == {"engine.python": str(other)}
    assert [arm["vllm"] for arm in found["arms"]] == [["0.32.0"], ["0.33.1"]]
    state = states.load(tmp_path / "session-c")
    assert [engine.python == str(other) for engine in state.engines.values()] == [False, True, True, False]
    (verdict,) = [row for row in found["verdicts"] if (row["metric"], row["split"]) == ("ttft_s.p50", "all")]
    assert verdict["word"] == "slower" and verdict["why"].startswith("vLLM 0.32.0 to 0.33.1; ")
    text = (tmp_path / "r.md").read_text()
    assert "on vLLM 0.32.0 and 0.33.1 (CPU" in text and f"`engine.python={other}` (vLLM 0.33.1) is slower than" in text
    assert f"{other} (vLLM 0.33.1):" in "\n".join(lines(found)) and not found["caveats"]


async def test_serving_an_arm_ends_the_one_before(standin_profile, tmp_path):
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session.session import Session

    profile = profiles.load(str(standin_profile))
    session = Session(profile, folder=tmp_path / "s")
    try:
        await session.serve(profile)
        await session.serve(profile)
        await asyncio.sleep(0)
        assert {n: e.state for n, e in session.state.engines.items()} == {1: "stopped", 2: "ready"}
        await session.serve(with_settings(profile, ["max-num-seqs=64"]))
        assert session.state.asked["max-num-seqs"] == "64" and not session.state.pending
    finally:
        await session.close()


@pytest.mark.matrix
async def test_a_row_of_the_dashboard_says_whether_chance_is_ruled_out(standin_profile, tmp_path):
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session.session import Session

    write_recording(tmp_path / "small.jsonl", REQUESTS)
    profile = profiles.load(str(standin_profile))
    session = Session(profile, folder=tmp_path / "s")
    try:
        for caching in ("off", "on"):
            await session.serve(with_settings(profile, [f"prefix-caching={caching}"]))
            await session.replay()
            await session.finished()
        once = [row.verdict for row in session.snapshot().runs]
        assert once[0] is None and once[1].startswith("TTFT p50 x0.")
        assert "not ruled out before both ran twice" in once[1]
        for caching in ("on", "off"):
            await session.serve(with_settings(profile, [f"prefix-caching={caching}"]))
            await session.replay()
            await session.finished()
        twice = [row.verdict for row in session.snapshot().runs]
        assert twice[1] == twice[2] and "for the same 24 requests, 2 replays each" in twice[1]
        assert twice[1].startswith("faster: TTFT p50 x0.")
        assert "on the same levers" in twice[3]
        begun = time.perf_counter()
        for _ in range(20):
            session.snapshot()
        assert time.perf_counter() - begun < 2
    finally:
        await session.close()
