"""The one lever to try next: by evidence, in order, and never one that is not to be had."""

import re
from types import SimpleNamespace

import pytest

from tui.session.next_step import advise
from tui.session.next_step.advise import can_of, of_session
from tui.session.report import next_step
from tui.session.state import EngineRecord, RunRecord, State


def everything(lever, value):
    return True


def result(**changes):
    """A run in which nothing stands out; keys with __ go into a block."""
    made = {
        "engine": {"applied": {"prefix-caching": "on", "chunked-prefill": "2048", "kv-dtype": "auto",
                               "kv-pool": "1GiB", "block-size": "128", "speculative": "off", "max-num-seqs": "128"}},
        "requests": {"ok": 24, "error_rate": 0.0},
        "in_flight": {"mean": 1.5, "peak": 4},
        "output_tokens": {"p50": 60},
        "groups": {},
        "queueing": None,
        "prefix_cache": {"state": "on", "hit_rate": 0.71, "ceiling": 0.74, "lost": None, "pools": None,
                         "ceilings": [{"block_size": 128, "ceiling": 0.74}]},
        "speculative": {"state": "off", "tokens_per_step": 1.0, "acceptance_rate": None, "per_position": [],
                        "copied": {"share": 0.1}},
        "kv_cache": {"usage_peak": 0.2, "preemptions": 0, "block_size": 128, "tokens": 46_592,
                     "longest": {"seen": 4_000}},
    }  # fmt: skip
    for key, value in changes.items():
        block, _, name = key.partition("__")
        if block == "applied":
            made["engine"]["applied"][name.replace("_", "-")] = value
        elif name:
            made[block] = {**made[block], name: value}
        else:
            made[block] = value
    return made


OFF = {"applied__prefix_caching": "off", "prefix_cache__state": "off", "prefix_cache__hit_rate": None}
LOST = {
    "prefix_cache__hit_rate": 0.2,
    "prefix_cache__lost": {"prompt_tokens": 1000, "evicted_tokens": 400},
    "prefix_cache__pools": [{"kv_tokens": 4224, "hit_rate": 0.2}, {"kv_tokens": 8448, "hit_rate": 0.6}],
}
BEHIND = {"queueing": {"behind": 9, "behind_ttft_s": 4.0, "alone_ttft_s": 0.3, "longest_tokens": 3000}}
GUESSING = {"applied__speculative": "ngram:4:2-4", "speculative__state": "on", "speculative__tokens_per_step": 2.4,
            "speculative__acceptance_rate": 0.5}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "setting", "figure"),
    [
        (OFF, "prefix-caching=on", "74 % of this recording's prompt tokens could be reused"),
        (LOST, "kv-dtype=fp8", "40 % of the prompt tokens were asked for again.*8,448 tokens would reach 60 %"),
        ({**LOST, "applied__kv_dtype": "fp8"}, "kv-pool=2GiB", "hits reach 20 % of 74 %"),
        ({"prefix_cache__ceilings": [{"block_size": 32, "ceiling": 0.9}, {"block_size": 64, "ceiling": 0.895},
                                     {"block_size": 128, "ceiling": 0.74}]},
         "block-size=64", "blocks of 64 instead of 128 tokens 90 %"),
        (BEHIND, "chunked-prefill=2048/512", "9 short requests had a TTFT of 4.00 s.*0.30 s without"),
        ({**BEHIND, "applied__chunked_prefill": "off"}, "chunked-prefill=on", "up to 3,000 tokens"),
        ({"kv_cache__preemptions": 3, "kv_cache__usage_peak": 0.99}, "kv-dtype=fp8", "99 % full, 3 preemptions"),
        ({"kv_cache__preemptions": 3, "applied__kv_dtype": "fp8", "applied__kv_pool": "90%", "in_flight__peak": 20},
         "max-num-seqs=11", "3 preemptions"),
        ({**GUESSING, "speculative__tokens_per_step": 1.04, "speculative__acceptance_rate": 0.08,
          "groups": {"extract": {"acceptance_rate": 0.6}, "write": {"acceptance_rate": 0.05}}},
         "speculative=off", r"1.04 tokens a step: 8 % .*but extract accepts 60 %"),
        ({**GUESSING, "speculative__per_position": [0.7, 0.5, 0.2, 0.04]},
         "speculative=ngram:3:2-4", "position 4 .* 4 %"),
        ({"speculative__copied": {"share": 0.45}}, "speculative=ngram:4:2-4", "45 % of the answers' words"),
    ],
)  # fmt: skip
def test_the_evidence_names_the_lever_and_its_figure(changes, setting, figure):
    step = advise(result(**changes), everything)
    assert step.setting == setting
    assert re.search(figure, step.why), step.why


def test_what_comes_first_in_the_order_is_said_first():
    changes = {**OFF, **BEHIND, "kv_cache__preemptions": 3, "speculative__copied": {"share": 0.9}}
    steps, refused = [], set()
    while (step := advise(result(**changes), lambda lever, value: lever not in refused)).lever:
        steps.append(step.lever)
        refused.add(step.lever)
    assert steps == ["prefix-caching", "chunked-prefill", "kv-dtype", "kv-pool", "speculative"]
    assert "what helps there was tried" in step.why


def test_nothing_is_worth_trying_says_what_was_looked_at():
    step = advise(result(), everything)
    assert step.lever is None
    assert step.sentence() == (
        "nothing is worth trying next: hits reach 71 % of 74 % possible, the KV pool was at most 20 % full, "
        "no preemption, 10 % of the answers' words could have been copied"
    )


@pytest.mark.parametrize("changes", [{"requests": {"ok": 2, "error_rate": 0}}, {"requests__error_rate": 0.3}])
def test_a_run_that_tells_too_little_gives_no_advice(changes):
    assert advise(result(**changes, **OFF), everything) is None


@pytest.mark.parametrize(
    "changes",
    [
        {**LOST, "prefix_cache__lost": {"prompt_tokens": 1000, "evicted_tokens": 10}},  # missed for another reason
        {"queueing": {"behind": 2, "behind_ttft_s": 4.0, "alone_ttft_s": 0.3, "longest_tokens": 3000}},
        {"queueing": {"behind": 9, "behind_ttft_s": 0.32, "alone_ttft_s": 0.3, "longest_tokens": 3000}},
        {**BEHIND, "applied__chunked_prefill": "2048/256"},
        {**GUESSING, "speculative__per_position": [0.7, 0.5]},
        {"speculative__copied": {"share": 0.45}, "in_flight__mean": 40.0},
        {"prefix_cache": {"state": "unknown"}, "kv_cache": {}, "speculative": {"state": "unknown"}},
    ],
)
def test_without_evidence_no_lever_is_named(changes):
    assert advise(result(**changes), everything).lever is None


ASKED = {"prefix-caching": "off", "chunked-prefill": "off", "speculative": "off", "kv-dtype": "auto",
         "kv-pool": "1GiB", "max-num-seqs": "128"}  # fmt: skip


def session(*asked: dict[str, str], **engine) -> State:
    """An engine and a run that went through for each of `asked`."""
    state = State()
    for number, values in enumerate(asked, 1):
        values = {**ASKED, **values}
        told = {"device": "CPU", "vllm": "0.32.0", "max_model_len": 8192, **engine}
        state.engines[number] = EngineRecord(number, "ready", 0.0, 0.0, asked=values, applied=dict(values), **told)
        run = RunRecord(number, number, "", 0.0, "done", 24, {}, {}, "closed:1")
        run.result = result(**{**OFF, **{f"applied__{k.replace('-', '_')}": v for k, v in values.items()}})
        state.runs[number] = run
    return state


def test_a_lever_that_was_tried_in_this_session_is_not_suggested_again():
    assert of_session(session({}))[1].setting == "prefix-caching=on"
    back = session({"prefix-caching": "on"}, {})
    number, step = of_session(back)
    assert (number, step.lever) == (2, None)
    refused = session({})
    refused.refused["prefix-caching"] = ("on", "it would not start")
    step = of_session(refused)[1]
    assert step.lever is None and "prefix caching is off; what helps there was tried" in step.why


def timed(state: State, *medians: float) -> State:
    for run, median in zip(state.runs.values(), medians, strict=True):
        run.result["e2e_s"] = {"n": 24, "p50": median}
    return state


def test_on_the_slower_arm_the_way_back_is_told():
    state = timed(session({"prefix-caching": "on"}, {}), 1.0, 3.21)
    step = of_session(state)[1]
    assert step.sentence() == (
        "go back to the levers of run 1: prefix-caching=on; the same requests took 3.2x as long in run 2 (E2E p50)"
    )
    assert step.back == 1 and "go back to the levers of run 1" in next_step.section(SimpleNamespace(state=state))


def test_there_is_no_way_back_to_what_was_not_faster_or_not_the_same():
    for change in ({}, {"total": 12}, {"state": "cancelled"}):
        state = timed(session({"prefix-caching": "on"}, {}), 1.0, 1.05 if not change else 3.0)
        for name, value in change.items():
            setattr(state.runs[1], name, value)
        assert of_session(state)[1].back is None


def test_chunking_that_was_tried_under_its_number_is_tried():
    state = session({"chunked-prefill": "2048"}, {"chunked-prefill": "off"})
    assert not can_of(state, state.engines[2])("chunked-prefill", "on")
    assert can_of(state, state.engines[2])("chunked-prefill", "512")


@pytest.mark.parametrize(
    ("engine", "lever", "value"),
    [
        ({"vllm": "0.6.6"}, "speculative", "ngram:4:2-4"),  # needs 0.8.5
        ({}, "block-size", "48"),  # on a CPU a multiple of 32
        ({}, "kv-offload", "8GiB"),  # only on GPUs
        ({"install": {"levers": {"prefix-caching": {"available": False, "reason": "no such flag"}}}},
         "prefix-caching", "on"),  # its own parser said so
    ],
)
def test_what_this_install_lacks_is_never_suggested(engine, lever, value):
    state = session({}, **engine)
    can = can_of(state, state.engines[1])
    assert not can(lever, value)


def test_a_lever_that_replaces_its_variable_can_be_suggested():
    state = session({}, env={"VLLM_CPU_KVCACHE_SPACE": "1"})
    assert can_of(state, state.engines[1])("kv-pool", "2GiB")


def test_flags_given_raw_do_not_stand_in_the_way():
    state = session({"max-num-seqs": "raw.max-num-seqs=32", "raw.max-num-seqs": "32"})
    assert of_session(state)[1].setting == "prefix-caching=on"


def test_an_engine_that_is_not_ours_gets_no_advice():
    assert of_session(session({}, start_kind="attached")) is None


def test_only_a_run_that_went_through_is_advised_on():
    state = session({})
    state.runs[1].state = "cancelled"
    assert of_session(state) is None
