"""The speculative experiment: where guesses pay, where to turn them off, and what vLLM itself warns of."""

import pytest
from made_lab import answer, found, replay, verdict

from tui.session.lab import speculative

OFF, NGRAM, DRAFT = "off", "ngram", "draft-model:bundled:smollm2-135m-draft:3"
GROUPS = ("extract t=0", "write t=1")
LOSS = "Speculative decoding on CPU without Intel OpenMP in LD_PRELOAD will cause significant performance loss."


def answers(by: float, tpot: dict[str, float], accepted: dict[str, int]) -> list:
    """Six of 37 tokens in each group; each step proposes 3 tokens, `accepted` of them in all."""

    def one(group: str, n: int) -> object:
        got = accepted.get(group)
        steps = None if got is None else 36 - got
        spec = {} if steps is None else {"drafts": steps, "draft_tokens": 3 * steps, "accepted_tokens": got,
                                         "acceptance_histogram": histogram(steps, got)}  # fmt: skip
        return answer(f"{group} {n}", 0.3, by * tpot[group] * (1 + 0.002 * n), 37, group=group, **spec)

    return [one(group, n) for group in GROUPS for n in range(6)]


def histogram(steps: int, accepted: int) -> tuple[int, ...]:
    """As many steps that accept two as make up `accepted`, and one of one where it is odd."""
    two, one = divmod(accepted, 2)
    return (steps - two - one, one, two, 0)


def replays(of_arm: dict[str, tuple[dict, dict]], warnings: dict[str, list[str]] | None = None) -> list:
    order = [*of_arm, *reversed(of_arm)]
    rows = []
    for number, arm in enumerate(order, 1):
        tpot, accepted = of_arm[arm]
        spec = {"state": "off" if arm == OFF else "on", "per_position": [0.6, 0.3, 0.1] if accepted else []}
        engine = {"warnings": ["some other warning", *(warnings or {}).get(arm, [])]}
        rows.append(replay(number, arm, answers(1 + 0.002 * number, tpot, accepted), speculative=spec, engine=engine))
    return rows


PLAIN = (dict.fromkeys(GROUPS, 0.034), {})
GOOD = ({"extract t=0": 0.014, "write t=1": 0.045}, {"extract t=0": 22, "write t=1": 1})
BAD = (dict.fromkeys(GROUPS, 0.060), dict.fromkeys(GROUPS, 0))


def told_of(arm: str, extract: str, write: str, ratio: float, ci: tuple[float, float]) -> list[dict]:
    words = {"all": write, "group:extract t=0": extract, "group:write t=1": write}
    return [verdict(arm, "tpot_s.p50", split, word, ratio, *ci) for split, word in words.items()]


VERDICTS = [*told_of(NGRAM, "faster", "slower", 0.5, (0.4, 0.6)), *told_of(DRAFT, "slower", "slower", 1.7, (1.6, 1.8))]


def lab(of_arm: dict, verdicts: list[dict] = VERDICTS, **more) -> dict:
    return found("speculative", "speculative", list(of_arm), replays(of_arm), verdicts=verdicts, **more)["lab"]


def group(told: dict, arm: int, name: str) -> dict:
    return next(row for row in told["table"][arm]["table"] if row["group"] == name)


def test_it_pays_for_some_requests_and_not_for_others():
    """With the comparison's own verdicts."""
    told = lab({OFF: PLAIN, NGRAM: GOOD}, verdicts=None)
    assert group(told, 0, "extract t=0")["advice"] == "keep it"
    assert group(told, 0, "write t=1")["advice"] == "turn it off"
    (sentence,) = told["sentences"]
    assert "keep it for extract t=0 (TPOT x0.41, 52.4 % accepted)" in sentence
    assert "turn it off for write t=1 (TPOT x1.32" in sentence


def test_acceptance_that_does_not_pay_is_told_to_be_turned_off():
    told = lab({OFF: PLAIN, NGRAM: GOOD, DRAFT: BAD})
    sentence = told["sentences"][1]
    assert sentence.startswith(f"{DRAFT}: turn it off: acceptance does not pay in any group")
    assert "0.0 % accepted" in sentence


def test_break_even_by_hand():
    """36 tokens after the first in 14 steps; a step takes 0.014 * 36 / 14 = 36 ms against 34."""
    row = group(lab({OFF: PLAIN, NGRAM: GOOD}), 0, "extract t=0")
    assert row["accepted_length"] == pytest.approx(36 / 14)
    assert row["acceptance"] == pytest.approx(22 / (3 * 14))
    assert row["break_even"] == pytest.approx(0.014 / 0.034 * 36 / 14, rel=0.02)
    assert row["total_off_s"] == pytest.approx(6 * (0.3 + 36 * 0.034), rel=0.02)


def test_acceptance_per_position_is_told_for_each_group():
    """22 of 14 steps: eleven accept two. 1 of 35: one accepts one."""
    told = lab({OFF: PLAIN, NGRAM: GOOD})
    assert group(told, 0, "extract t=0")["per_position"] == pytest.approx([11 / 14, 11 / 14, 0])
    assert group(told, 0, "write t=1")["per_position"] == pytest.approx([1 / 35, 0, 0])
    assert group(told, 0, "all")["per_position"] == pytest.approx([12 / 49, 11 / 49, 0])


@pytest.mark.parametrize(
    ("ci", "advice"), [((0.97, 1.05), "turn it off"), ((0.8, 1.1), "not settled"), (None, "not settled")]
)
def test_no_difference_is_a_reason_to_turn_it_off_only_where_a_gain_is_ruled_out(ci, advice):
    same = (dict.fromkeys(GROUPS, 0.034), dict.fromkeys(GROUPS, 4))
    none = "no difference seen" if ci else "too few"
    rows = [{**row, "ci": ci} for row in told_of(NGRAM, none, none, 1.0, (0, 0))]
    told = lab({OFF: PLAIN, NGRAM: same}, verdicts=rows)
    assert group(told, 0, "write t=1")["advice"] == advice and advice in told["sentences"][0]


def test_what_vllm_warns_of_on_the_arms_that_speculate_is_a_caveat():
    rows = replays({OFF: PLAIN, NGRAM: GOOD, DRAFT: BAD}, {NGRAM: [LOSS], DRAFT: [LOSS]})
    whole = found("speculative", "speculative", [OFF, NGRAM, DRAFT], rows, verdicts=VERDICTS)
    (caveat,) = [words for words in whole["caveats"] if "warning on" in words]
    assert LOSS in caveat and NGRAM in caveat and DRAFT in caveat


def test_a_gain_in_other_answers_is_none():
    changed = {"arms": [{"arm": NGRAM, "word": "changed", "why": "3 of 6 part beyond a near tie"}]}
    told = lab({OFF: PLAIN, NGRAM: GOOD}, checked=changed)
    assert told["headline"] == "ngram: keep it for extract t=0; turn it off for write t=1, and its answers changed."
    assert "turn it off, for its answers are not the baseline's (3 of 6" in told["sentences"][0]


def test_positions_are_the_mean_of_the_replays():
    assert lab({OFF: PLAIN, NGRAM: GOOD})["table"][0]["per_position"] == pytest.approx([0.6, 0.3, 0.1])


@pytest.mark.parametrize(("scale", "each"), [(0.1, 5), (0.42, 5), (1, 12)])
def test_the_scale_cuts_requests_of_every_task_and_temperature_alike(scale, each):
    sent = speculative.STUDY.requests(scale)
    found = {name: [r for r in sent if r.group == name] for name in {r.group for r in sent}}
    assert len(found) == 6 and {len(rows) for rows in found.values()} == {each}
    texts = [r.body["messages"][0]["content"] for r in sent]
    assert len(set(texts)) == len(texts)
    assert {r.body["temperature"] for r in found["write t=1"]} == {1}
    assert all("seed" in r.body for r in found["write t=1"]) and "seed" not in found["write t=0"][0].body
