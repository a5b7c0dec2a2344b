"""The lever panel's rows on an install: what is not to be had there, what is new there, and what a change does."""

from dataclasses import replace

import pytest
from made_install import CPU, H100

from tui.engine import command
from tui.engine.flags import Flag
from tui.engine.profile import parse
from tui.session.levers_view import lever_views
from tui.session.state import State
from tui.widgets.lever_list import in_order

PROFILE = parse("engine: {model: org/m, args: {max-model-len: 8192}}\nlevers: {prefix-caching: on}")
OLD = replace(H100, version="0.8.5").with_flags(
    {
        name: Flag(name, choices=choices)
        for name, choices in {
            "enable-prefix-caching": (), "max-num-batched-tokens": (), "enable-chunked-prefill": (), "max-num-seqs": (),
            "kv-cache-dtype": ("auto", "fp8", "fp8_new"), "prefix-caching-hash-algo": ("builtin", "sha256"),
            "gpu-memory-utilization": (), "enforce-eager": (), "speculative-config": (), "max-model-len": (),
        }.items()
    }
)  # fmt: skip


def rows(install, pending=(), applied=None):
    launch = command.build(PROFILE, install, 8123)
    state = State()
    state.apply({"e": "launch", "t": 1.0, "n": 1, "asked": launch.asked, "install": launch.install})
    if applied:
        state.apply({"e": "applied", "t": 2.0, "n": 1, "levers": applied})
    for name, words in pending:
        state.apply({"e": "lever", "t": 3.0, "name": name, "value": words})
    return {view.name: view for view in lever_views(state)}


def test_a_lever_that_this_vllm_lacks_says_what_it_needs():
    seen = rows(OLD)
    assert seen["kv-offload"].missing == "needs vLLM 0.12, this is 0.8"
    assert seen["async-scheduling"].missing == "needs vLLM 0.10, this is 0.8"
    assert seen["prefix-caching"].missing is None
    assert rows(CPU)["kv-offload"].missing == "only on cuda, rocm, xpu; this is cpu"


def test_what_matters_less_stands_behind_until_it_is_named():
    seen = in_order(tuple(rows(CPU).values()))
    assert [view.name for view in seen if not view.extra][:3] == ["prefix-caching", "chunked-prefill", "max-num-seqs"]
    assert [view.extra for view in seen] == sorted(view.extra for view in seen)
    assert rows(CPU, [("prefix-hash", "xxhash")])["prefix-hash"].extra  # it does not jump while it is pending
    assert not rows(CPU)["speculative"].extra


def test_choices_are_those_of_the_installed_parser():
    seen = rows(OLD)
    assert seen["kv-dtype"].choices == ("auto", "fp8", "fp8_new")
    assert seen["prefix-hash"].choices == ("builtin", "sha256")


def test_what_vllm_would_choose_is_shown_where_nothing_is_asked():
    seen = rows(CPU)
    assert seen["prefix-hash"].asked == "" and seen["prefix-hash"].default == "sha256"
    assert seen["block-size"].default == "128" and rows(H100)["block-size"].default == "16"
    assert seen["async-scheduling"].default == "off" and rows(H100)["async-scheduling"].default == "on"


@pytest.mark.parametrize(
    ("pending", "install", "row", "words"),
    [
        (("speculative", "ngram:4:2-4"), H100, "speculative", "async scheduling off with ngram"),
        (("chunked-prefill", "64"), H100, "chunked-prefill", "goes down from 1024 to 64"),
        (("chunked-prefill", "off"), H100, "chunked-prefill", "from 8,192 to 8,192"),
        (("block-size", "16"), CPU, "block-size", "vLLM would refuse this: block-size=16"),
        (("kv-dtype", "fp8"), H100, "kv-dtype", "switches the backend"),
    ],
)
def test_a_pending_change_tells_what_it_does_before_it_is_applied(pending, install, row, words):
    note = rows(install, [pending])[row].note
    if words == "from 8,192 to 8,192":  # the budget is large enough already: nothing to tell but vLLM's warning
        assert "goes up" not in note and "may crash" in note
    else:
        assert words in note
    assert rows(install)[row].note is None or words not in rows(install)[row].note


def test_an_attached_engine_shows_what_it_runs():
    state = State()
    state.apply({"e": "launch", "t": 1.0, "n": 1, "state": "attached", "asked": {}})
    runs = {"prefix-caching": "on", "block-size": "128", "eager": None}
    state.apply({"e": "applied", "t": 2.0, "n": 1, "levers": runs})
    seen = {view.name: view for view in lever_views(state)}
    assert (seen["prefix-caching"].asked, seen["prefix-caching"].applied) == ("", "on")
    assert seen["block-size"].applied == "128" and "eager" not in seen
