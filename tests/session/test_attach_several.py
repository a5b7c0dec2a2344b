"""Engines that vtune does not own, on several URLs: all are watched, requests go to the first, nothing is changed."""

import asyncio
import json

import httpx
import pytest
from made import write_recording
from standin.fixture import serving

from tui.cli import main
from tui.engine.profile import parse
from tui.errors import VtuneError
from tui.session import attach, state, views
from tui.session.session import Session
from tui.session.traffic import traffic_of


async def others(url: str, count: int) -> None:
    """Requests that are not ours."""
    async with httpx.AsyncClient(trust_env=False) as web:
        for number in range(count):
            body = {"model": "smollm2-135m", "prompt": f"q{number}", "max_tokens": 2, "stream": True}
            await web.post(f"{url}/v1/completions", json=body)


def picture(session):
    return views.snapshot(session.state, session.folder, 0.0, None)


@pytest.fixture
async def attached(tmp_path):
    made = []

    def make(*urls: str) -> Session:
        base = parse(
            f"name: mine\nengine: {{attach: [{', '.join(urls)}]}}\n"
            f"traffic: {{recording: {write_recording(tmp_path / 'small.jsonl', requests=4)}, pace: 'closed:2'}}\n"
            "targets: {ttft-p50: 30s}\n"
        )
        profile = attach.profile(base.engine.attach, base)
        made.append(Session(profile, traffic_of(profile), tmp_path / "session", attach=urls[0]))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_two_engines_are_watched_and_one_is_sent_to(attached):
    async with serving("--enable-prefix-caching") as one, serving("--no-enable-prefix-caching") as two:
        session = attached(one.url, two.url)
        await session.start()
        await session.ready()
        await session.replay()
        result = await session.finished()
        assert result["requests"]["ok"] == 4 and result["targets"][0]["met"]
        assert not [row for row in two.server.seen if row["path"].startswith("/v1/chat")]
        names = {sample.engine for sample in session.state.engine.scrape.engines}
        assert names == {f"{url.removeprefix('http://')}/0" for url in (one.url, two.url)}


async def test_levers_are_shown_and_read_only(attached):
    async with serving("--no-enable-prefix-caching", "--max-num-seqs", "7") as one:
        session = attached(one.url)
        await session.start()
        await session.ready()
        seen = {view.name: view for view in picture(session).levers}
        assert (seen["prefix-caching"].asked, seen["prefix-caching"].applied) == ("", "off")
        for change in (lambda: session.set_lever("prefix-caching", "on"), lambda: session.set_lever("eager", "on")):
            with pytest.raises(VtuneError, match="does not own"):
                change()
        assert session.state.pending == {}


async def test_traffic_of_others_shows_its_ttft_between_our_runs(attached):
    async with serving("--enable-prefix-caching") as one:
        session = attached(one.url)
        await session.start()
        await session.ready()
        await session.watch.scrape_now()
        assert picture(session).metrics.foreign_ttft is None
        await others(one.url, 3)
        async with asyncio.timeout(10):
            while (seen := picture(session).metrics.foreign_ttft) is None or seen.n < 3:
                await session.watch.scrape_now()
        assert (seen.n, seen.p95) == (3, None) and seen.p50 is not None
        again = state.load(session.folder)
        assert again.foreign == session.state.foreign  # a reopened session says the same


def test_a_profile_that_attaches_takes_no_levers_and_no_settings(tmp_path, capsys):
    for text in (
        "engine: {attach: http://x}\nlevers: {prefix-caching: on}",
        "engine: {attach: http://x, args: {seed: 1}}",
    ):
        with pytest.raises(VtuneError, match="vtune does not own it"):
            parse(text)
    with pytest.raises(VtuneError, match="no URL"):
        parse("engine: {attach: 8000}")
    file = tmp_path / "mine.yaml"
    file.write_text("engine: {attach: http://127.0.0.1:9}\ntraffic: {recording: rag-handbook}\n")
    assert main(["replay", "rag-handbook", "--profile", str(file), "--set", "prefix-caching=off"]) == 2
    assert "does not own" in capsys.readouterr().err
    assert main(["command", "--profile", str(file)]) == 2


async def test_the_listing_reads_back_what_an_engine_runs(capsys):
    async with serving("--no-enable-prefix-caching", "--max-num-seqs", "7") as one:
        words = ["levers", "--url", one.url, "--json", "-"]
        assert await asyncio.to_thread(main, words) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["levers"]}
    assert rows["prefix-caching"]["asked"] == "on" and rows["prefix-caching"]["applied"] == "off"
    assert rows["max-num-seqs"]["applied"] == "7"
    assert main(["levers", "--json", "-", "--set", "chunked-prefill=off"]) == 0
    told = capsys.readouterr()
    (row,) = [row for row in json.loads(told.out)["levers"] if row["name"] == "chunked-prefill"]
    assert {one["rule"] for one in row["hazards"]} == {"budget-raised", "chunking-unsupported"}
    assert all(one["fact"].startswith("vllm.md") for one in row["hazards"]) and "moved: chunked-prefill=off" in told.err
