"""The dashboard's recorder in front of the real engine: what a real client asked there is replayed with the same
answers."""

import asyncio
from pathlib import Path

import pytest
import real

from tui.session.session import Session
from tui.session.traffic import traffic_of
from tui.traffic.recording import load
from tui.traffic.replay import read_outcomes

openai = pytest.importorskip("openai", reason="the openai package is not installed")
pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(900)]
QUESTIONS = ("What is a lighthouse?", "Name three colours.", "Write a short poem.")


async def conversation(client, model):
    """The texts of three answers to one person who asks on, every other one streamed."""
    messages, texts = [], []
    for number, question in enumerate(QUESTIONS):
        messages.append({"role": "user", "content": question})
        told = await client.chat.completions.create(
            model=model, messages=messages, max_tokens=16, temperature=0, stream=number % 2 == 0
        )
        if number % 2:
            text = told.choices[0].message.content
        else:
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in told if chunk.choices])
        texts.append(text)
        messages.append({"role": "assistant", "content": text})
    return texts


async def test_recorded_by_the_key_and_replayed_over_a_restart_gives_the_same_tokens(tmp_path):
    profile = real.demo("chunked-prefill=512")
    session = Session(profile, traffic_of(profile, pace="closed:1"), tmp_path / "session")
    await session.start()
    try:
        await session.ready()
        await session.record(0)
        view = session.snapshot().recorder
        async with openai.AsyncOpenAI(base_url=f"{view.url}/v1", api_key="none") as client:
            model = (await client.models.list()).data[0].id
            texts = await conversation(client, model)
            async with asyncio.timeout(30):
                while session.snapshot().recorder.kept < len(QUESTIONS):
                    await asyncio.sleep(0.05)
        await session.stop_recording()
        await session.restart()
        await session.ready()
        await session.replay()
        result = await session.finished()
    finally:
        await session.close()
    kept = load(Path(view.path)).requests
    assert [request.after for request in kept] == [None, kept[0].id, kept[1].id]
    assert result["requests"]["ok"] == result["requests"]["sent"] == len(QUESTIONS)
    _, outcomes, _ = read_outcomes(tmp_path / "session" / "run-1.jsonl")
    told = {outcome.id: outcome for outcome in outcomes}
    assert [told[request.id].text for request in kept] == texts
    assert [told[request.id].text_sha256 for request in kept] == [request.reply["text_sha256"] for request in kept]
