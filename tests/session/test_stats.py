"""DIST: quantiles that say nothing are absent, and nothing is ever NaN."""

import json

import numpy as np
import pytest
from scipy import stats

from tui.session.stats import dist

KEYS = ["n", "mean", "p50", "p90", "p95", "p99", "min", "max"]


def test_without_samples_everything_but_n_is_unknown():
    empty = dist([])
    assert list(empty) == KEYS
    assert empty.pop("n") == 0
    assert set(empty.values()) == {None}


def test_one_sample_is_its_own_median():
    one = dist([0.25])
    assert (one["n"], one["mean"], one["p50"], one["min"], one["max"]) == (1, 0.25, 0.25, 0.25, 0.25)
    assert one["p90"] is one["p95"] is one["p99"] is None


@pytest.mark.parametrize(
    ("n", "p95", "p99"), [(19, False, False), (20, True, False), (99, True, False), (100, True, True)]
)
def test_tail_quantiles_need_enough_samples(n, p95, p99):
    values = dist(range(n))
    assert (values["p95"] is not None, values["p99"] is not None) == (p95, p99)
    assert (values["p90"] is not None) == p95


def test_quantiles_are_linear_between_samples():
    # 0..20: position of p95 is 0.95 * 20 = 19.0; of p50 10.0; of p90 18.0
    values = dist(range(21))
    assert (values["p50"], values["p90"], values["p95"]) == (10.0, 18.0, 19.0)
    assert dist([1, 2])["p50"] == 1.5


def test_quantiles_are_scipys_of_the_same_kind():
    """Linear between order statistics: type 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996."""
    samples = np.random.default_rng(1).exponential(0.3, 137)
    wanted = stats.mstats.mquantiles(samples, [0.5, 0.9, 0.95, 0.99], alphap=1, betap=1)
    found = dist(samples)
    assert [found[name] for name in ("p50", "p90", "p95", "p99")] == pytest.approx(list(wanted))


def test_unknown_and_not_finite_samples_are_left_out():
    values = dist([None, float("nan"), float("inf"), 3.0, 1.0])
    assert (values["n"], values["mean"], values["max"]) == (2, 2.0, 3.0)
    json.dumps(values, allow_nan=False)
