import random

import pytest

from tui.traffic.prefix import Prompt, analyse, block_digests


def shares(prompts, block_size):
    return [request.reusable_tokens for request in analyse(prompts, block_size).requests]


def test_only_whole_leading_blocks_are_reused():
    first = Prompt("a", list(range(100)))
    same_for_70 = Prompt("b", [*range(70), *range(500, 540)])
    shifted = Prompt("c", [7, *range(100)])
    assert shares([first, same_for_70, shifted], 32) == [0, 64, 0]


def test_the_last_prompt_token_is_always_computed():
    tokens = list(range(64))
    assert shares([Prompt("a", tokens), Prompt("b", tokens)], 32) == [0, 32]
    assert shares([Prompt("a", tokens), Prompt("b", [*tokens, 1])], 32) == [0, 64]


def test_a_block_counts_only_behind_the_same_tokens():
    one, two, three = list(range(16)), list(range(16, 32)), list(range(32, 48))
    earlier, other_start = Prompt("a", one + two), Prompt("b", three + two + one)
    assert shares([earlier, other_start], 16) == [0, 0]


def test_blocks_of_several_earlier_requests_make_one_prefix():
    base = list(range(96))
    prompts = [Prompt("a", base[:40]), Prompt("b", [*base[:80], 7]), Prompt("c", base)]
    result = analyse(prompts, 16)
    assert [r.reusable_tokens for r in result.requests] == [0, 32, 80]
    assert [r.source for r in result.requests] == [None, "a", "b"]


def test_the_ceiling_is_reusable_over_prompt_tokens():
    result = analyse([Prompt("a", range(48)), Prompt("b", range(48)), Prompt("c", [1])], 16)
    assert (result.prompt_tokens, result.reusable_tokens) == (97, 32)
    assert result.ceiling == pytest.approx(32 / 97)
    assert result.requests[1].share == pytest.approx(32 / 48)


def test_a_salt_is_a_name_space_of_its_own():
    tokens = list(range(33))
    prompts = [Prompt("a", tokens), Prompt("b", tokens, "x"), Prompt("c", tokens, "x"), Prompt("d", tokens)]
    assert shares(prompts, 16) == [0, 0, 32, 32]


def test_a_later_turn_reuses_the_answer_before_it_but_for_its_last_token():
    question, answer = list(range(30)), list(range(100, 119))
    follow_up = [*question, *answer, 5, 6, 7]
    assert shares([Prompt("a", question), Prompt("b", follow_up)], 16) == [0, 16]
    assert shares([Prompt("a", question, answer=answer), Prompt("b", follow_up)], 16) == [0, 48]
    assert shares([Prompt("a", question, answer=answer[:18]), Prompt("b", follow_up)], 16) == [0, 32]


def test_nothing_to_count_is_unknown_and_not_zero():
    assert analyse([], 16).ceiling is None
    result = analyse([Prompt("a", [])], 16)
    assert (result.ceiling, result.requests[0].share) == (None, None)


def test_a_block_size_under_one_is_refused():
    with pytest.raises(ValueError, match="block size 0"):
        analyse([Prompt("a", [1])], 0)


def test_digests_tell_token_ids_apart_that_share_their_digits():
    assert block_digests([1, 23], 2) != block_digests([12, 3], 2)
    assert len(block_digests(range(100), 32)) == 3


def test_it_agrees_with_comparing_every_pair_of_prompts():
    chance = random.Random(3)
    prompts = [Prompt(str(n), [chance.randrange(2) for _ in range(chance.randrange(1, 40))]) for n in range(200)]
    for block_size in (1, 4, 7):
        expected = [best_by_pairs(prompts[:n], prompt, block_size) for n, prompt in enumerate(prompts)]
        assert shares(prompts, block_size) == expected
        assert sum(expected) > 0


def best_by_pairs(earlier, prompt, block_size):
    """The longest reusable prefix, found the slow way: against each earlier prompt by itself."""
    best = 0
    for other in earlier:
        blocks = 0
        while True:
            end = (blocks + 1) * block_size
            if end > len(prompt.tokens) - 1 or end > len(other.tokens) or prompt.tokens[:end] != other.tokens[:end]:
                break
            blocks += 1
        best = max(best, blocks * block_size)
    return best
