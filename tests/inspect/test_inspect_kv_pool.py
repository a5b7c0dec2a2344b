"""What a pool of blocks keeps, held against the plainest way to say it."""

import random

import pytest

from tui.traffic.inspect import capacity, rows
from tui.traffic.inspect.capacity import Pool
from tui.traffic.prefix import Prompt, analyse

BLOCK = 4


class Plain:
    """A list of blocks, the next to be taken first; each is [what it holds, since when].

    Of two that hold the same, vLLM finds the one that was filled first.
    """

    def __init__(self, blocks):
        self.free, self.clock = [[None, 0] for _ in range(blocks - 1)], 0

    def serve(self, tokens):
        need = -(-len(tokens) // BLOCK)
        if need > len(self.free):
            return None
        chains = [tuple(tokens[: end]) for end in range(BLOCK, len(tokens) + 1, BLOCK)]
        held = []
        for chain in chains[: (len(tokens) - 1) // BLOCK]:
            match = [block for block in self.free if block[0] == chain]
            if not match:
                break
            held.append(min(match, key=lambda block: block[1]))
            self.free = [block for block in self.free if block is not held[-1]]
        hits = len(held)
        for number in range(hits, need):
            block = self.free.pop(0)
            self.clock += 1
            block[:] = [chains[number] if number < len(chains) else None, self.clock]
            held.append(block)
        for block in reversed(held):
            self.free = [block, *self.free] if block[0] is None else [*self.free, block]
        return hits


def prompts(count, chance):
    starts = [[chance.randrange(3) for _ in range(24)] for _ in range(5)]
    for n in range(count):
        own = [chance.randrange(9) for _ in range(chance.randrange(7))]
        yield Prompt(str(n), chance.choice(starts)[: chance.randrange(1, 25)] + own)


@pytest.mark.parametrize("blocks", [3, 9, 14, 40, 300])
def test_it_keeps_what_the_plain_one_keeps(blocks):
    chance = random.Random(blocks)
    pool, plain, hits = Pool(blocks), Plain(blocks), 0
    for prompt in prompts(800, chance):
        got = pool.serve(rows.row(prompt, BLOCK))
        assert got == plain.serve(prompt.tokens)
        hits += got or 0
    assert hits > 0


def test_a_large_pool_reaches_the_ceiling_and_a_smaller_one_never_more():
    made = list(prompts(400, random.Random(1)))
    found = [rows.row(prompt, BLOCK) for prompt in made]
    ceiling = rows.ceiling(found)
    assert ceiling == analyse(made, BLOCK).ceiling
    pools = capacity.measured(found, [BLOCK * n for n in (10, 20, 40, 80, 10_000)], BLOCK)
    assert pools[-1].hit_rate == ceiling
    assert all(pool.hit_rate <= ceiling for pool in pools)


def test_the_end_of_a_prompt_goes_before_its_beginning():
    long, other = list(range(16)), list(range(100, 112))
    pool = Pool(7)  # one is set aside: six are left for 4 + 3 blocks
    assert pool.serve(rows.row(Prompt("a", long), BLOCK)) == 0
    assert pool.serve(rows.row(Prompt("b", other), BLOCK)) == 0
    assert pool.serve(rows.row(Prompt("c", [*long, 5]), BLOCK)) == 3


def test_what_does_not_fit_is_counted_apart():
    made = [rows.row(Prompt(str(n), list(range(40))), BLOCK) for n in range(2)]
    pool = capacity.measured([*made, rows.row(Prompt("c", [1, 2]), BLOCK)], [20], BLOCK)[0]
    assert (pool.too_long, pool.hit_rate) == (2, 0.0)


def test_sizes_go_from_the_longest_request_to_everything_with_the_engines_own():
    found = capacity.sizes(10, 5000, 16, 46_592)
    assert found == sorted(found) and {found[0], found[-1]} == {11 * 16, 5001 * 16}
    assert 46_592 in found and len(found) <= 9
    assert capacity.sizes(10, 10, 16, None) == [11 * 16]
