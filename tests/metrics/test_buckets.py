"""TTFT of traffic that is not ours, from the engine's own buckets; several URLs as one scrape."""

import json
from pathlib import Path

import httpx

from tui.metrics.buckets import between, ttft_buckets
from tui.metrics.scrape import NOTHING, Scrape, Scraper
from tui.metrics.several import scraper
from tui.session.foreign import Foreign

PAGE = (Path(__file__).parents[1] / "standin" / "captured" / "metrics.txt").read_text()


def page(*counts, engine="0", total=None):
    bounds = ("0.1", "0.5", "1.0", "+Inf")
    rows = [
        f'vllm:time_to_first_token_seconds_bucket{{engine="{engine}",le="{le}",model_name="a}}b"}} {n}'
        for le, n in zip(bounds, counts, strict=True)
    ]
    return "\n".join([*rows, f'vllm:num_requests_running{{engine="{engine}",model_name="a}}b"}} 1.0'])


def test_buckets_of_all_engines_are_summed_and_kept_by_the_journal():
    text = page(1, 2, 3, 4) + "\n" + page(10, 20, 30, 40, engine="1")
    assert ttft_buckets(text) == ((0.1, 11), (0.5, 22), (1.0, 33), (1.0, 44))
    assert ttft_buckets("vllm:num_requests_running 1.0") == ()
    scrape = Scrape(1.0, ttft_buckets=ttft_buckets(text))
    again = Scrape.from_json(json.loads(json.dumps(scrape.to_json())))
    assert again == scrape and again.apply(json.loads(json.dumps(NOTHING.changes(NOTHING)))).ttft_buckets


def test_a_real_page_has_them():
    found = ttft_buckets(PAGE)
    assert [bound for bound, _ in found][:3] == [0.001, 0.005, 0.01] and found[-1][1] == max(n for _, n in found)


def test_quantiles_are_interpolated_within_a_bucket():
    before, after = ttft_buckets(page(5, 5, 5, 5)), ttft_buckets(page(5, 25, 45, 45))
    told = between(before, after)
    assert (told.n, told.p50) == (40, 0.5)
    assert abs(told.p95 - 0.95) < 1e-9  # 18 of the 20 in 0.5 to 1


def test_what_can_not_be_said_is_unknown():
    start = ttft_buckets(page(0, 0, 0, 0))
    few = between(start, ttft_buckets(page(1, 2, 3, 3)))
    assert few.n == 3 and few.p95 is None and few.p50 is not None
    beyond = between(start, ttft_buckets(page(0, 0, 0, 30)))
    assert (beyond.n, beyond.p50, beyond.p95) == (30, None, None)
    assert between(start, start).n == 0 and between(start, start).p50 is None
    assert between(ttft_buckets(page(9, 9, 9, 9)), start) is None  # restarted
    assert between((), start) is None and between(start, ()) is None


def client(pages):
    def answer(request):
        found = pages[request.url.netloc.decode()]
        return httpx.Response(found) if isinstance(found, int) else httpx.Response(200, text=found)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


async def test_engines_of_several_urls_stay_apart():
    pages = {"router:8080": 404, "one:8000": page(1, 2, 3, 4), "two:8000": page(1, 1, 1, 1)}
    async with client(pages) as web:
        several = scraper(web, [f"http://{place}" for place in pages], buckets=True)
        found = await several.once()
        assert [sample.engine for sample in found.engines] == ["one:8000/0", "two:8000/0"]
        assert found.running == 2 and found.ttft_buckets[-1] == (1.0, 5)
        assert several.error is None
        pages["one:8000"] = pages["two:8000"] = 503
        assert await several.once() is None and "two:8000: HTTP 503" in several.error


async def test_one_url_is_scraped_as_ever_and_buckets_only_where_asked_for():
    async with client({"one:8000": PAGE}) as web:
        plain = scraper(web, ["http://one:8000"])
        assert isinstance(plain, Scraper) and (await plain.once()).ttft_buckets == ()


def foreign(*pages):
    """What is seen of others over these (counts, whether a run of ours goes on, start of the server)."""
    seen = Foreign()
    for number, (counts, ours, started) in enumerate(pages):
        seen.see(Scrape(float(number), started_at=started, ttft_buckets=ttft_buckets(page(*counts))), ours)
    return seen.ttft()


def test_traffic_of_others_is_counted_between_our_runs_only():
    idle, ours = (5, 5, 5, 5), (5, 25, 30, 30)
    assert foreign((idle, False, 1.0)) is None  # from before we came
    assert foreign((idle, False, 1.0), ((5, 9, 9, 9), False, 1.0)).n == 4
    assert foreign((idle, False, 1.0), (ours, True, 1.0)) is None
    assert foreign((idle, False, 1.0), (ours, True, 1.0), (ours, False, 1.0)) is None
    assert foreign((ours, False, 1.0), ((6, 26, 31, 31), False, 1.0), ((1, 1, 1, 1), False, 2.0)) is None  # restarted
