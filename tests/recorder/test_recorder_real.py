"""A real client records a real engine, and a replay of that gives the same tokens."""

import pytest
import real
from traffic_replay import replayed
from upstreams import recording

from tui.engine.keeper import Keeper
from tui.engine.process import Engine
from tui.traffic.recording import load

openai = pytest.importorskip("openai", reason="the openai package is not installed")
pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


async def ask(client, model, messages, **more):
    """The answer's text; streamed or not as `more` says."""
    answer = await client.chat.completions.create(
        model=model, messages=messages, max_tokens=24, temperature=0, **more
    )
    if not more.get("stream"):
        return answer.choices[0].message.content
    return "".join([chunk.choices[0].delta.content or "" async for chunk in answer if chunk.choices])


@pytest.mark.matrix
async def test_openais_client_recorded_and_replayed_gives_the_same_tokens(tmp_path):
    launch = real.launch()
    out = tmp_path / "made.jsonl"
    keeper = await Keeper.open()
    engine = Engine(launch, keeper, tmp_path / "engine-1.log", lambda event: None)
    try:
        await engine.start()
        async with recording(launch.url, out) as proxy:
            async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none") as client:
                texts = []
                for question in ("What is a lighthouse?", "Name three colours.", "Write a short poem."):
                    messages = [{"role": "user", "content": question}]
                    texts.append(await ask(client, launch.model, messages, stream=len(texts) != 1))
                messages += [{"role": "assistant", "content": texts[-1]}, {"role": "user", "content": "Another one."}]
                texts.append(await ask(client, launch.model, messages, stream=True))
            recorded = await proxy.end()
        outcomes = await replayed(launch.url, out, tmp_path / "run.jsonl")
    finally:
        await engine.stop()
        await keeper.close()
    kept = load(out).requests
    assert len(kept) == recorded.kept == 4 and kept[3].after == kept[2].id
    assert [outcomes[request.id].text for request in kept] == texts
    for request in kept:
        outcome = outcomes[request.id]
        assert request.reply["text_sha256"] == outcome.text_sha256
        # Streams without usage were counted by /tokenize, the others told it.
        assert request.reply["usage"]["prompt_tokens"] == outcome.prompt_tokens
    assert kept[1].reply["usage"]["completion_tokens"] == outcomes[kept[1].id].output_tokens
    assert {request.reply.get("usage_from") for request in kept} == {None, "tokenize"}
