"""What is chance and what is not: against scipy, against values by hand, and a thousand times A against A."""

from dataclasses import replace

import numpy as np
import pytest
from made_replays import Noise, plan, replays, times
from scipy import stats

from tui.session.compare import chance, comparison
from tui.session.compare.bootstrap import intervals

# How often a comparison may claim what is not there: 5 %, and two standard errors of 1,000 comparisons.
MOST = 0.065


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 8, 11, 30])
@pytest.mark.parametrize("inside", [0.5, 0.95, 0.999])
def test_students_quantiles_are_scipys(inside, df):
    wanted = stats.t.ppf((1 + inside) / 2, df)
    assert chance.t_quantile(inside, df) == pytest.approx(wanted, rel=1e-9)
    assert chance.t_within(wanted, df) == pytest.approx(inside, rel=1e-9)


def test_holm_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert chance.holm(np.array(p)) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_verdict_has_students_p():
    """By hand: a round of A 1.0, 1.2 and B 1.6, 1.5 has contrast 0.45 and noise 0.2 and 0.1 over root two."""
    found = chance.Contrast.of(np.array([[[1.6], [1.5]]]), np.array([[[1.0], [1.2]]]))
    assert found.df == 2 and found.contrast == pytest.approx([0.45])
    noise = np.sqrt((0.2**2 / 2 + 0.1**2 / 2) / 2)
    assert found.t == pytest.approx([0.45 / noise]) and found.error == pytest.approx([noise])
    p = chance.corrected(found, np.random.default_rng(1), 200_000)
    assert p == pytest.approx(2 * stats.t.sf(0.45 / noise, 2), rel=0.1)


def test_with_more_rounds_the_rounds_judge_each_other_too():
    rng = np.random.default_rng(2)
    arm, base = rng.standard_normal((2, 3, 2, 1))
    found = chance.Contrast.of(arm, base)
    # All that is left of 12 values when means of arms (2) and of rounds (3 - 1) are taken out.
    assert found.df == 8
    table = np.stack([arm, base])[..., 0]
    rest = table - table.mean(axis=(1, 2), keepdims=True) - table.mean(axis=(0, 2), keepdims=True) + table.mean()
    assert (found.noise**2).sum() == pytest.approx((rest**2).sum())


def test_correction_pays_for_different_verdicts_and_not_for_the_same_one_twice():
    rng = np.random.default_rng(3)
    one = chance.Contrast(np.array([6.0]), rng.standard_normal((5, 1)), 2)
    alone = chance.corrected(one, np.random.default_rng(4))[0]
    thrice = chance.Contrast(np.repeat(one.contrast, 3), np.repeat(one.noise, 3, axis=1), 2)
    assert chance.corrected(thrice, np.random.default_rng(4)) == pytest.approx(alone)
    noise = np.hstack([one.noise, rng.standard_normal((5, 9))])
    others = chance.Contrast(np.append(one.contrast, np.zeros(9)), noise, 2)
    among = chance.corrected(others, np.random.default_rng(4))[0]
    assert 2 * alone < among <= 11.5 * alone  # Holm's bound is 10, and both are drawn


def test_the_bootstrap_of_a_median_is_scipys():
    rng = np.random.default_rng(5)
    base = np.exp(rng.normal(0, 0.3, 60))
    arm = base * np.exp(rng.normal(0.3, 0.1, 60))
    found = intervals(arm[None, None], base[None, None], 0.5, rng, 20_000)
    wanted = stats.bootstrap(
        (arm, base), lambda a, b, axis: np.median(a, axis) / np.median(b, axis), paired=True, vectorized=True,
        method="percentile", n_resamples=20_000, rng=np.random.default_rng(6),
    ).confidence_interval  # fmt: skip
    assert found.ratio == pytest.approx(tuple(wanted), rel=0.01)


def test_rounds_that_differ_widen_the_bootstrap():
    values = np.tile(np.linspace(1.0, 2.0, 40), (2, 2, 1))
    same = intervals(1.1 * values, values, 0.5, np.random.default_rng(7))
    assert same.ratio == pytest.approx((1.1, 1.1))
    apart = intervals(np.array([1.0, 1.2])[:, None, None] * values, values, 0.5, np.random.default_rng(7))
    assert apart.ratio[0] == pytest.approx(1.0) and apart.ratio[1] == pytest.approx(1.2)


def test_two_arms_need_no_allowance_for_neighbours_and_the_innermost_of_many_does():
    assert [chance.neighbourhood(2, 1, rounds) for rounds in (1, 2, 5)] == [1.0] * 3
    # By hand for A B C C B A, r = 0.5: contrast (4 + 1 + 1/16 - 1 - 1/2) / 4, within C 1/2, within A 1 - 1/32.
    assert chance.neighbourhood(3, 2, 1) >= np.sqrt((3.5625 / 4) / np.sqrt(0.5 * 31 / 32))
    assert 1.1 < chance.neighbourhood(3, 2, 1) < 1.2 < chance.neighbourhood(5, 4, 1) < 1.5
    assert chance.neighbourhood(3, 1, 1) == 1.0


def test_the_other_arms_replays_judge_too_but_never_less_strictly():
    rng = np.random.default_rng(8)
    one = chance.Contrast(np.array([6.0]), rng.standard_normal((2, 1)), 1)
    steadier = replace(one, others=0.1 * rng.standard_normal((3, 1)))
    assert steadier.error == pytest.approx(one.error)  # the arm's own noise is the larger
    restless = replace(one, others=10 * rng.standard_normal((3, 1)))
    rows = np.concatenate([restless.noise, restless.others])
    assert restless.error == pytest.approx(np.sqrt((rows**2).mean(axis=0))) and restless.df == 5
    p = [chance.corrected(c, np.random.default_rng(9), 200_000)[0] for c in (one, steadier)]
    assert p[0] == pytest.approx(2 * stats.t.sf(one.t[0], 2), rel=0.1)
    assert p[1] == pytest.approx(2 * stats.t.sf(steadier.t[0], 5), rel=0.1)


# -- A against A ---------------------------------------------------------------------------------


def logs(noise: Noise, rng: np.random.Generator, arms: int, rounds: int) -> list[chance.Contrast]:
    """What 11 verdicts per arm ask of chance: means of logarithms, tails, throughput."""
    ttft, tpot = times(noise, rng, arms, rounds)
    e2e = ttft + 16 * tpot
    cold = np.arange(ttft.shape[1]) % 4 == 0
    half = np.arange(ttft.shape[1]) % 2 == 0
    medians = [ttft, tpot, e2e, ttft[:, cold], ttft[:, ~cold], ttft[:, half], tpot[:, half], e2e[:, half]]
    columns = [np.log(values).mean(axis=1) for values in medians]
    tails = [np.quantile(ttft, 0.95, axis=1), np.quantile(ttft[:, ~cold], 0.95, axis=1), e2e.sum(axis=1)]
    y = np.stack([*columns, *map(np.log, tails)], axis=-1)
    by_round = [y[2 * arms * r : 2 * arms * (r + 1)] for r in range(rounds)]
    of_arm = [np.stack([part[[a, 2 * arms - 1 - a]] for part in by_round]) for a in range(arms)]
    found = []
    for a in range(1, arms):
        others = [b for b in range(1, arms) if b != a]
        one = chance.Contrast.of(of_arm[a], of_arm[0])
        if others:
            one = replace(one, others=np.concatenate([chance.again(of_arm[b]) for b in others]))
        found.append(one.widened(chance.neighbourhood(arms, a, rounds, others)))
    return found


def claims(noise: Noise, arms: int, rounds: int, comparisons: int = 1000, seed: int = 0) -> float:
    """Share of comparisons of equal arms that claim any difference."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(comparisons):
        smallest = [chance.corrected(c, rng, 1000).min() for c in logs(noise, rng, arms, rounds)]
        found += chance.holm(np.array(smallest)).min() <= 0.05
    return found / comparisons


STEADY = Noise(drift=0.02, memory=0.5)
SWAYING = Noise(drift=0.1, memory=0.8, apart=True)


@pytest.mark.parametrize(("noise", "arms", "rounds"), [(STEADY, 2, 1), (SWAYING, 3, 1), (SWAYING, 2, 2)])
def test_a_thousand_times_a_against_a(noise, arms, rounds):
    assert claims(noise, arms, rounds) <= MOST


@pytest.mark.matrix
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("drift", "request_noise", "outliers"), [(0.01, 0.1, 0), (0.05, 0.05, 0.05), (0.3, 0.01, 0)])
def test_a_against_a_for_many_kinds_of_noise(drift, request_noise, outliers, memory, arms, rounds):
    """81 kinds of 1,000 comparisons: in most within 6.5 %, in all within three standard errors of 5 %."""
    noise = Noise(request_noise, drift, memory, apart=memory == 0.5, outliers=outliers)
    assert claims(noise, arms, rounds, seed=arms + 10 * rounds) <= 0.071


def whole(noise: Noise, seed: int, **more) -> list[dict]:
    rounds = more.get("rounds", 1)
    ttft, tpot = times(noise, np.random.default_rng([seed, 7]), **more)
    return comparison(plan(rounds=rounds, seed=seed), replays(ttft, tpot, rounds=rounds))["verdicts"]


def claimed(verdicts: list[dict]) -> list[dict]:
    return [row for row in verdicts if row["word"] in ("faster", "slower")]


def test_whole_comparisons_of_a_against_a():
    found = sum(bool(claimed(whole(STEADY, seed))) for seed in range(30))
    assert found <= 5  # more than 5 of 30 have 0.3 % at 5 %


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_a_thousand_whole_comparisons_of_a_against_a():
    assert sum(bool(claimed(whole(STEADY, seed))) for seed in range(1000)) <= 1000 * MOST


MILD = Noise(request=0.05, drift=0.01)


def test_what_is_there_is_found_with_32_requests_and_two_replays():
    """1.3 times as long a TTFT under mild noise: found in nine of ten comparisons, and nothing else is."""
    found = [whole(MILD, seed, gain=1.3) for seed in range(40)]
    medians = [row for rows in found for row in rows if row["metric"] == "ttft_s.p50" and row["split"] == "all"]
    assert sum(row["word"] == "slower" for row in medians) >= 36
    assert np.mean([row["ci"][0] <= 1.3 <= row["ci"][1] for row in medians]) >= 0.9
    assert not [row for rows in found for row in claimed(rows) if row["word"] == "faster"]
    false = [rows for rows in found if any(row["metric"] == "tpot_s.p50" for row in claimed(rows))]
    assert len(false) <= 6


def test_a_factor_of_five_is_found_in_one_round_of_five_arms():
    """Under the noise of a busy machine, where two replays of an arm differ by a seventh."""
    noise, arms = Noise(request=0.1, drift=0.1), 5
    found = 0
    for seed in range(12):
        ttft, tpot = times(noise, np.random.default_rng([seed, 11]), arms=arms, gain=0.2)
        verdicts = comparison(plan(arms, seed=seed), replays(ttft, tpot, arms))["verdicts"]
        medians = [row for row in verdicts if row["metric"] == "ttft_s.p50" and row["split"] == "all"]
        assert len(medians) == arms - 1
        found += sum(row["word"] == "faster" for row in medians)
    assert found >= 44, found  # of 48


@pytest.mark.matrix
def test_more_rounds_find_what_hides_in_noise():
    """1.3 times under noise in which one round sees little: three rounds find it."""
    noise = Noise(request=0.1, drift=0.04)

    def found(rounds: int) -> int:
        rows = [claimed(whole(noise, seed, gain=1.3, rounds=rounds)) for seed in range(12)]
        return sum(any(row["metric"] == "ttft_s.p50" for row in of_one) for of_one in rows)

    assert found(1) <= 9 and found(3) == 12
