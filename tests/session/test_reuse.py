"""What became of the prompts' blocks: found, evicted and asked for again, reused over turns, copied."""

import json

from standin.fixture import INTERPRETER

from tui import cli
from tui.engine import device
from tui.session import report, state, views
from tui.session.reuse import study
from tui.session.reuse.copied import copied
from tui.traffic.outcome import Outcome
from tui.traffic.recording import Request

BLOCK = 4


def asked(name: str, after: str | None = None, **body) -> Request:
    return Request(id=name, at=0.0, path="/v1/completions", body={"prompt": "x", **body}, after=after)


def answered(name: str, prompt: int, cached: int, sent: float, took: float = 1.0, **more) -> Outcome:
    return Outcome(name, None, "ok", sent, sent, ttft_s=took / 2, e2e_s=took, prompt_tokens=prompt,
                   cached_tokens=cached, output_tokens=more.pop("output_tokens", 1), **more)  # fmt: skip


def studied(prompts: dict[str, list[int]], outcomes: list[Outcome], pool: int | None = 1000, **options):
    requests = [asked(name) for name in prompts]
    kept = {"empty_at_start": True, "cpu": False, **options}
    return study(requests, list(prompts.values()), outcomes, BLOCK, pool, **kept)


A = list(range(100, 112))  # three blocks
B, C = list(range(200, 216)), list(range(300, 316))


def test_a_prefix_that_was_evicted_and_is_asked_for_again_is_named():
    prompts = {"first": [*A, 1], "other": [*B, 2], "again": [*A, 3]}
    outcomes = [answered("first", 13, 0, 0.0), answered("other", 17, 0, 10.0), answered("again", 13, 4, 20.0)]
    told, named = studied(prompts, outcomes, pool=8 * BLOCK)
    lost = told["lost"]
    assert (lost["seen_tokens"], lost["found_tokens"]) == (12, 4)
    assert (lost["evicted_tokens"], lost["evicted_soon_tokens"], lost["requests"]) == (8, 8, 1)
    (prefix,) = lost["prefixes"]
    assert (prefix["asked_by"], prefix["last_used_by"], prefix["lost_tokens"]) == (["again"], "first", 8)
    assert prefix["idle_s"] == 19.0  # from the end of the first to the sending of the third
    assert prefix["between_tokens"] == 20  # five blocks for the other one
    assert (named[0].place, named[0].start) == (2, 4)  # its lost part begins after the block that was found


def test_what_twice_the_pool_would_not_have_kept_is_not_soon():
    others = {f"o{n}": [*range(1000 * n, 1000 * n + 16), n] for n in range(1, 6)}
    prompts = {"first": [*A, 1], **others, "again": [*A, 3]}
    outcomes = [answered(name, len(ids), 0, 10.0 * n) for n, (name, ids) in enumerate(prompts.items())]
    lost = studied(prompts, outcomes, pool=8 * BLOCK)[0]["lost"]
    assert (lost["evicted_tokens"], lost["evicted_soon_tokens"]) == (12, 0)


def test_a_miss_while_the_pool_had_room_is_no_eviction():
    prompts = {"first": [*A, 1], "again": [*A, 3]}
    lost = studied(prompts, [answered("first", 13, 0, 0.0), answered("again", 13, 0, 20.0)])[0]["lost"]
    assert (lost["evicted_tokens"], lost["unexplained_tokens"], lost["prefixes"]) == (0, 12, [])


def test_the_block_that_eagle_computes_again_is_not_lost():
    prompts = {"first": [*A, 1], "again": [*A, 3]}
    outcomes = [answered("first", 13, 0, 0.0), answered("again", 13, 8, 20.0)]
    assert studied(prompts, outcomes, pool=2 * BLOCK, computed_again=1)[0]["lost"]["evicted_tokens"] == 0
    assert studied(prompts, outcomes, pool=2 * BLOCK)[0]["lost"]["evicted_tokens"] == 4


def test_behind_one_url_with_several_engines_nothing_is_called_lost():
    prompts = {"first": [*A, 1], "again": [*A, 3]}
    outcomes = [answered("first", 13, 0, 0.0), answered("again", 13, 0, 20.0)]
    told, named = studied(prompts, outcomes, pool=2 * BLOCK, engines=2)
    assert (told["lost"], told["pools"], named) == (None, [], [])


def test_a_prefix_that_is_still_being_computed_was_not_there_to_be_found():
    prompts = {"first": [*A, 1], "second": [*A, 2]}
    outcomes = [answered("first", 13, 0, 0.0, took=4.0), answered("second", 13, 0, 1.0)]
    lost = studied(prompts, outcomes, pool=2 * BLOCK)[0]["lost"]
    assert (lost["seen_tokens"], lost["evicted_tokens"]) == (0, 0)


def test_a_prompt_that_is_not_the_one_that_was_sent_is_left_out():
    told = studied({"first": [*A, 1]}, [answered("first", 14, 0, 0.0)])[0]
    assert (told["requests"], told["lost"]["prompt_tokens"]) == (0, 0)


def test_a_turn_is_credited_with_what_only_its_conversation_had():
    system = list(range(8))
    turn_1, answer = [*system, *A], [901, 902, 903, 904]
    turn_2 = [*turn_1, *answer, *B]
    requests = [asked("other"), asked("t1"), asked("t2", after="t1")]
    tokens = [[*system, 7], turn_1, turn_2]
    requests[1].body["messages"] = [{"role": "user", "content": "one"}]
    requests[2].body["messages"] = [*requests[1].body["messages"], {"role": "assistant", "content": "two"},
                                    {"role": "user", "content": "three"}]  # fmt: skip
    outcomes = [answered("other", 9, 0, 0.0), answered("t1", 20, 8, 10.0), answered("t2", 40, 20, 20.0)]
    told, _ = study(requests, tokens, outcomes, BLOCK, 1000, empty_at_start=True, cpu=False)
    assert told["turns"] == [
        # of the 20 cached tokens 8 are the system prompt, which another request had first
        {"turn": 2, "requests": 1, "prompt_tokens": 40, "cached_tokens": 20, "from_turn_before": 12}
    ]


def test_smaller_blocks_and_larger_pools_are_worked_out():
    prompts = {f"r{n}": [*(A if n % 2 else B)[:6], *range(1000 * n, 1000 * n + 10)] for n in range(1, 9)}
    outcomes = [answered(name, 16, 0, float(10 * n)) for n, name in enumerate(prompts)]
    requests = [asked(name) for name in prompts]
    told, _ = study(requests, list(prompts.values()), outcomes, 64, 64, empty_at_start=True, cpu=True)
    assert [row["block_size"] for row in told["ceilings"]] == [32, 64]
    told, _ = studied(prompts, outcomes, pool=5 * BLOCK)
    assert [pool["kv_tokens"] for pool in told["pools"]] == [20, 40, 80]
    rates = [pool["hit_rate"] for pool in told["pools"]]
    assert rates[0] < rates[1] <= rates[2]


def test_answers_that_copy_their_prompt_are_foretold_and_others_not():
    passage = "the quick brown fox jumps over the lazy dog and runs far away from the old grey house at night"
    repeating = copied([(passage, passage)])
    assert repeating.share > 0.7 and repeating.words == 20
    assert copied([(passage, "nothing of this was said before by anybody here")]).share == 0.0
    assert copied([]).share is None
    assert copied([("", "a b c a b c a b c a b c")]).accepted > 0  # they may copy themselves


def test_a_small_pool_thrashes_and_everything_that_tells_a_run_names_it(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(device, "slow_at_16_bits", lambda: False)  # fp8 can be had
    recording, folder = tmp_path / "turns.jsonl", tmp_path / "session"
    rows = [{"schema": "vtune.recording/1", "name": "turns"}]
    for n in range(12):
        text = " ".join(f"w{(n % 3) * 1000 + i}" for i in range(300))
        rows.append({"id": f"r{n}", "at": 0.01 * n, "path": "/v1/completions",
                     "body": {"prompt": f"{text} {n}", "max_tokens": 4}})  # fmt: skip
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = [f"engine.python={INTERPRETER}", "engine.warm=off", "raw.num-gpu-blocks-override=5"]
    words = ["replay", str(recording), "--pace", "closed:1", "--session", str(folder)]
    assert cli.main([*words, "--json", str(tmp_path / "run.json"), *(w for s in settings for w in ("--set", s))]) == 0
    said = capfd.readouterr()
    assert "next: kv-dtype=fp8: hits reach 0 %" in said.err
    assert "evicted" in said.out and "asked for again in 9 requests" in said.out

    result = json.loads((tmp_path / "run.json").read_text())
    lost = result["prefix_cache"]["lost"]
    assert lost["requests"] == 9 and lost["evicted_tokens"] > 0.5 * lost["prompt_tokens"]
    assert any(words.startswith("thrashing") for words in result["caveats"])
    shown = views.snapshot(state.load(folder), folder, 0.0, None)  # as when it is opened again
    assert shown.metrics.kv.evicted_tokens == lost["evicted_tokens"] and shown.next_step.startswith("kv-dtype=fp8")
    text = report.render(folder)
    assert "After run 1, try `kv-dtype=fp8`" in text and "evicted and asked for again" in text
