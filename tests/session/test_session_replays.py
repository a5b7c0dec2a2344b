"""What a session does with its replay beside starting it: hold it, loop it, and know what does not fit."""

import asyncio

import pytest
from made import write_recording
from test_session import make, measured, until  # noqa: F401 - the fixture

from tui.errors import VtuneError
from tui.session import fit
from tui.traffic import recording
from tui.traffic.recording import Request


def chat(id, words=9, **body):
    messages = [{"role": "user", "content": "word " * words}]
    return Request(id, 0.0, "/v1/chat/completions", {"model": "m", "messages": messages, "max_tokens": 4, **body})


async def test_a_replay_is_held_and_goes_on(make, tmp_path):  # noqa: F811
    write_recording(tmp_path / "spread.jsonl", requests=12)
    session = make(recording_ref=str(tmp_path / "spread.jsonl"), pace="constant:5")
    await session.start()
    await session.ready()
    with pytest.raises(VtuneError, match="no replay is running"):
        await session.hold_replay(True)
    await session.replay()
    await until(session, lambda s: s.running and s.runs[1].tick and s.runs[1].tick.ok >= 1)
    await session.hold_replay(True)
    await until(session, lambda s: s.runs[1].tick.paused)
    assert session.snapshot().run.state == "paused"
    await asyncio.sleep(0.5)
    await session.hold_replay(False)
    result = await session.finished()
    assert result["requests"]["ok"] == 12 and result["fidelity"]["paused_s"] >= 0.5
    assert any("was paused for" in words for words in result["caveats"])


async def test_an_idle_gap_is_shown_until_its_end_and_counted(make, tmp_path):  # noqa: F811
    rows = [chat("a"), Request("b", 3.0, *[getattr(chat("b"), name) for name in ("path", "body")])]
    recording.write(tmp_path / "gap.jsonl", {"name": "gap"}, rows)
    session = make(recording_ref=str(tmp_path / "gap.jsonl"), pace="recorded")
    await session.start()
    await session.ready()
    await session.replay()
    await until(session, lambda s: s.running and s.runs[1].tick and s.runs[1].tick.next_due_s)
    run = session.snapshot().run
    tick = session.state.runs[1].tick
    assert run.idle_until == pytest.approx(session.state.runs[1].ticked_at + 3.0 - tick.at_s, abs=0.01)
    result = await session.finished()
    assert 1.5 < result["in_flight"]["idle_s"] < 3.5  # the next one may be sent late


async def test_a_loop_is_one_run_with_a_caveat(make):  # noqa: F811
    session = make(loop=2)
    await session.start()
    result = await measured(session)
    assert result["requests"]["ok"] == 12 and session.state.runs[1].total == 12
    assert any("sent 2 times" in words for words in result["caveats"])


async def test_what_does_not_fit_is_told_before_the_run_and_not_sent(make, tmp_path):  # noqa: F811
    rows = [chat("fits"), chat("long", 9000), chat("tight", max_tokens=8190)]
    recording.write(tmp_path / "long.jsonl", {"name": "long"}, rows)
    session = make(recording_ref=str(tmp_path / "long.jsonl"))
    await session.start()
    result = await measured(session)
    [notice] = [n for n in session.state.notices if "max-model-len" in n["what"]]
    assert notice["level"] == "warning" and notice["what"].startswith("1 of 3 requests") and "long: " in notice["what"]
    [error] = result["requests"]["errors"]
    assert (error["kind"], error["count"]) == ("context too long", 1) and "not sent: its prompt has" in error["example"]
    assert result["requests"]["ok"] == 2


def test_an_engine_that_is_asked_to_cut_prompts_gets_them():
    cut, long = chat("cut", truncate_prompt_tokens=100), chat("long")
    assert fit.too_long([cut, long, chat("tight"), chat("fits")], [9000, 100, 97, 96], 100) == (
        {"long": "its prompt has 100 tokens, the engine's max-model-len is 100"},
        1,
    )
    assert fit.too_long([long], [9000], None) == ({}, 0)


async def test_calls_for_embeddings_are_left_out_of_a_replay(make, tmp_path):  # noqa: F811
    rows = [chat("a"), Request("e", 0.1, "/v1/embeddings", {"model": "e", "input": "words"}), chat("b")]
    recording.write(tmp_path / "mixed.jsonl", {"name": "mixed"}, rows)
    session = make(recording_ref=str(tmp_path / "mixed.jsonl"))
    await session.start()
    result = await measured(session)
    assert result["requests"]["ok"] == result["requests"]["sent"] == 2
    assert any("1 call for embeddings" in n["what"] for n in session.state.notices)
