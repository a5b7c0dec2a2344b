"""The client library that most people have, through the proxy."""

import pytest
from standin.fixture import serving
from upstreams import recording

from tui.traffic.recording import load

openai = pytest.importorskip("openai", reason="the openai package is not installed")

MESSAGES = [{"role": "user", "content": "What is the rule?"}]


async def test_openais_client_streaming_and_not(tmp_path):
    out = tmp_path / "made.jsonl"
    async with serving(env={"STANDIN_STEP_MS": "1"}) as standin, recording(standin.url, out) as proxy:
        model = standin.server.settings.served
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="sk-not-to-be-written-anywhere") as client:
            assert [m.id async for m in await client.models.list()] == [model]
            whole = await client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=6, user="me")
            text = whole.choices[0].message.content
            answer = {"role": "assistant", "content": text}
            turn = [*MESSAGES, answer, {"role": "user", "content": "And why?"}]
            stream = await client.chat.completions.create(
                model=model, messages=turn, max_tokens=6, stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
            assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) and chunks[-1].usage
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="nowhere", messages=MESSAGES)
            plain = await client.completions.create(model=model, prompt="Once", max_tokens=4)
            assert plain.choices[0].text
        recorded = await proxy.end()
    kept = load(out).requests
    assert [r.reply["status"] for r in kept] == [200, 200, 404, 200]
    assert kept[0].body == {"messages": MESSAGES, "model": model, "max_tokens": 6} and kept[0].redacted == ("user",)
    assert kept[0].reply["usage"]["completion_tokens"] == whole.usage.completion_tokens
    assert kept[1].after == kept[0].id and kept[1].reply["usage"]["prompt_tokens"] == chunks[-1].usage.prompt_tokens
    assert "sk-not" not in out.read_text()
    assert recorded.skipped == {"not a POST": 1}
