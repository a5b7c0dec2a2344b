"""Comparisons on the real engine: what is there is found, and what is not there is not claimed."""

import json

import pytest

from tui.cli import main
from tui.engine import install, model_make, profile
from tui.errors import VtuneError

pytestmark = [pytest.mark.engine, pytest.mark.matrix, pytest.mark.timeout(5400)]

TRAFFIC = ("--profile", "demo", "--pace", "closed:1", "--limit", "6")


@pytest.fixture(scope="module", autouse=True)
def demo():
    """The demo profile's model, or a skip that says what is missing for it."""
    wanted = profile.load("demo")
    try:
        model_make.ensure(wanted.engine.model, install.find(wanted.engine.python), print)
    except VtuneError as error:
        pytest.skip(f"{error.what} ({error.mend})")


def compared(tmp_path, number: int, vary: str) -> dict:
    out = tmp_path / f"{number}.json"
    words = [
        "--vary",
        vary,
        "--seed",
        str(number),
        "--session",
        str(tmp_path / f"session-{number}"),
        "--json",
        str(out),
    ]
    assert main(["compare", "rag-handbook", *TRAFFIC, *words]) == 0
    return json.loads(out.read_text())


def claims(found: dict) -> list[dict]:
    return [row for row in found["verdicts"] if row["word"] in ("faster", "slower")]


def test_prefix_caching_pays_and_says_why(tmp_path):
    found = compared(tmp_path, 0, "prefix-caching=off,on")
    (warm,) = [r for r in found["verdicts"] if (r["metric"], r["split"]) == ("ttft_s.p50", "all")]
    assert warm["word"] == "faster" and "hit rate from off to" in warm["why"] and not warm["flags"]
    assert not [row for row in claims(found) if row["metric"] == "tpot_s.p50" and "suspicious" not in row["flags"]]


def test_of_ten_comparisons_of_equal_arms_at_most_one_claims_a_difference(tmp_path):
    found = [claims(compared(tmp_path, number, "max-num-seqs=64,65")) for number in range(1, 11)]
    assert sum(bool(rows) for rows in found) <= 1, found
