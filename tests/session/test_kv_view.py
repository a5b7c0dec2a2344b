"""The KV panel's figures after a restart: the pool is the new engine's, what was lost is the last run's."""

from test_pool import engine

from tui.session.kv_view import kv_picture
from tui.session.state import RunRecord, State


def test_after_a_restart_the_prediction_stands_beside_the_new_engine():
    run = RunRecord(1, 1, "", 0.0, "done", 1, {}, {}, "closed:1")
    run.trace.kv_peak = 0.5
    run.result = {"kv_cache": {"longest": {"in_flight": 4, "tokens": 8192, "seen": 900},
                               "partial_blocks": {"share": 0.05}},
                  "prefix_cache": {"lost": {"prompt_tokens": 100, "evicted_tokens": 20, "evicted_soon_tokens": 20,
                                            "prefixes": []}}}  # fmt: skip
    state = State(engines={1: engine()}, serving=1, runs={1: run})
    before = kv_picture(state, run)
    assert (before.tokens, before.used_peak, before.at_once, before.predicted) == (46_592, 182, 4, None)
    assert dict(before.would_hold)["kv-dtype=fp8"] == 93_184

    state.engines[2] = engine(number=2, tokens=93_184, dtype="fp8")
    state.serving = 2
    after = kv_picture(state, run)
    assert (after.tokens, after.predicted) == (93_184, (93_184, 93_184))
    assert (after.used_peak, after.at_once) == (None, None)  # those were of the other pool
    assert (after.evicted_tokens, after.partial_share) == (20, 0.05)  # of the last run, until there is another


def test_without_an_engine_or_an_older_vtunes_result_nothing_is_made_up():
    assert kv_picture(State(), None).tokens is None
    run = RunRecord(1, 1, "", 0.0, "done", 1, {}, {}, "closed:1", result={"kv_cache": {"usage_peak": 0.1}})
    picture = kv_picture(State(engines={1: engine()}, serving=1, runs={1: run}), run)
    assert (picture.evicted_tokens, picture.turns, picture.lost, picture.partial_share) == (None, (), (), None)
