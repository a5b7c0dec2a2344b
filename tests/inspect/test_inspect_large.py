"""Long recordings: what is held for each request is a few bytes a block, and causes are weighed on the first ones."""

import tracemalloc

import pytest
from made_prompts import STABLE, chat, counted, kinds, look, question

from tui.traffic.inspect import capacity, characters, doctor
from tui.traffic.inspect.rows import row
from tui.traffic.prefix import Prompt


def long_chats(count):
    return [chat(f"r{n}", f"Now: 2026-06-09 10:{n % 60:02d}\n{STABLE}", f"{question(n)} {STABLE * 20}{n}")
            for n in range(count)]  # fmt: skip


def test_a_row_takes_eight_bytes_a_block():
    requests, seen = long_chats(200), counted()
    tracemalloc.start()
    rows = seen.rows(requests)
    characters.of_text.cache_clear()  # holds the texts seen last, however long the recording is
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    blocks = sum(len(one.kept) for one in rows)
    assert blocks > 40_000
    assert held < 8 * blocks + 1_000_000


@pytest.mark.parametrize("few", [10, 100])
def test_causes_are_weighed_on_the_first_requests_and_counted_on_all(monkeypatch, few):
    monkeypatch.setattr(doctor, "MOST", few)
    asked = []

    def count(requests):
        asked.extend(requests)
        return characters.tokens(requests)

    requests = [chat(f"r{n}", f"Now: 2026-06-09 10:{n % 60:02d}\nSession {n}f3ac9912bd04e7\n{STABLE}", question(n))
                for n in range(100)]  # fmt: skip
    found = doctor.examine(requests, doctor.Counted(count, 16, characters.PER_TOKEN))
    assert set(kinds(found)) == {"time", "uuid"} and {one.requests for one in found.breaks} == {100}
    assert found.ceiling == look(requests).ceiling
    assert len(asked) <= 4 * 100 + 2 * few  # as they are, with each mend, with both; and the first ones with fewer


def test_pools_one_after_another_give_what_they_give_together():
    rows = [row(Prompt(str(n), [n % 7] * 64 + list(range(n, n + 50))), 16) for n in range(60)]
    one = capacity.measured(rows, [128, 512, 4096], 16)
    together = capacity.measured(iter(rows), [128, 512, 4096], 16)
    assert [pool.hit_rate for pool in one] == [pool.hit_rate for pool in together]
