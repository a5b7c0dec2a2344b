"""The recorder in front of the session's engine: what goes to its address is recorded, over restarts, and replayed."""

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tui import paths
from tui.engine import profile
from tui.errors import VtuneError
from tui.session.session import Session
from tui.session.state import load
from tui.session.traffic import traffic_of


def ask(url: str, words: str) -> str:
    """One chat answer of whoever is at `url`."""
    with urllib.request.urlopen(f"{url}/v1/models", timeout=30) as answer:
        model = json.load(answer)["data"][0]["id"]
    body = {"model": model, "messages": [{"role": "user", "content": words}], "max_tokens": 4, "temperature": 0}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


async def until(wanted, seconds=60):
    async with asyncio.timeout(seconds):
        while not wanted():
            await asyncio.sleep(0.02)


@pytest.fixture
async def session(standin_profile, tmp_path):
    wanted = profile.load(str(standin_profile))
    made = Session(wanted, traffic_of(wanted), tmp_path / "session")
    await made.start()
    await made.ready()
    yield made
    await made.close()


async def test_what_clients_send_is_recorded_over_a_restart_and_replayed_next(session):
    await session.record(0)
    view = session.snapshot().recorder
    assert view is not None and view.url.startswith("http://127.0.0.1:") and view.kept == 0
    assert await asyncio.to_thread(ask, view.url, "first")
    session.set_lever("prefix-caching", "off")
    await session.apply()
    # Held while the next engine starts, then answered.
    assert await asyncio.to_thread(ask, view.url, "second")
    await until(lambda: session.snapshot().recorder.kept == 2)
    await session.stop_recording()
    seen = session.snapshot()
    assert seen.recorder is None and seen.recording == Path(view.path).name.removesuffix(".jsonl")
    assert Path(view.path).parent == paths.data() / "recordings"
    await session.ready()
    await session.replay()
    result = await session.finished()
    assert result["requests"]["ok"] == 2 and result["recording"]["name"] == seen.recording
    assert load(session.folder) == session.state


async def test_a_second_recorder_a_taken_port_and_a_stop_too_many_are_refused(session):
    with pytest.raises(VtuneError, match="not running"):
        await session.stop_recording()
    await session.record(0)
    port = int(session.snapshot().recorder.url.rpartition(":")[2])
    with pytest.raises(VtuneError, match="runs already"):
        await session.record(0)
    await session.stop_recording()
    assert "nothing was recorded" in session.snapshot().notices[-1].what
    assert not list((paths.data() / "recordings").iterdir())
    taken = await asyncio.start_server(lambda r, w: None, "127.0.0.1", port)
    async with taken:
        with pytest.raises(VtuneError):
            await session.record(port)
    assert session.snapshot().recorder is None
    await session.record(port)  # and it can be started again


async def test_a_recorder_that_is_killed_is_told_and_what_it_kept_can_be_replayed(session):
    await session.record(0)
    url = session.snapshot().recorder.url
    assert await asyncio.to_thread(ask, url, "kept")
    await until(lambda: session.snapshot().recorder.kept == 1)
    os.kill(session.recorder.pid, signal.SIGKILL)
    await until(lambda: session.snapshot().recorder is None)
    told = [notice.what for notice in session.snapshot().notices]
    assert any("the recorder ended" in what for what in told)
    await until(lambda: session.snapshot().recording.startswith("recorded-"))
    with pytest.raises(urllib.error.URLError):
        await asyncio.to_thread(ask, url, "nobody")


async def test_the_engine_ends_and_starts_again(session):
    await session.end_engine()
    assert session.snapshot().engine.state == "stopped"
    with pytest.raises(VtuneError, match="not ready"):
        await session.replay()
    await session.restart()
    await session.ready()
    assert session.snapshot().engine.state == "ready"
