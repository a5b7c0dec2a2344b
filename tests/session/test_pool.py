"""What a pool holds, and what it would: held to the figures that a real engine reported (SmolLM2-135M, 1 GiB)."""

import pytest

from tui.metrics.scrape import EngineSample, Scrape
from tui.session.pool import draft_cost, engine_before, pool_of, predicted
from tui.session.result.kv_cache import partial_blocks
from tui.session.state import EngineRecord, State
from tui.traffic.outcome import Outcome

TARGET = {"auto": 23_040, "fp8": 11_520}  # 2 x 30 layers x 3 heads x 64 x 2 bytes
DRAFT = {"auto": 4_608, "fp8": 2_304}  # six of its layers
GIB = 2**30


def engine(tokens=46_592, block=128, dtype="auto", size: str = str(GIB), parts=None, number=1, **changes):
    told = {"kv_cache_memory_bytes": size, "cache_dtype": dtype, "block_size": str(block)}
    values = {
        "applied": {"kv-pool": "1GiB"}, "device": "CPU", "block_size": block, "kv_cache_tokens": tokens,
        "kv_bytes": {"target": TARGET} if parts is None else parts, "max_model_len": 8192,
        "scrape": Scrape(1.0, (EngineSample("0", cache_config=told),)),
    }  # fmt: skip
    return EngineRecord(number, "ready", 0.0, 0.0, **values | changes)


def test_fp8_holds_what_the_real_engine_reported():
    rows = {f"{row['lever']}={row['value']}": row["tokens"] for row in pool_of(engine()).alternatives()}
    assert rows == {"kv-dtype=fp8": 93_184, "block-size=32": 46_592, "block-size=64": 46_592}  # on a CPU none of 16
    assert pool_of(engine(tokens=93_184, dtype="fp8_e4m3")).alternatives()[0] == {
        "lever": "kv-dtype", "value": "auto", "tokens": 46_592,
    }  # fmt: skip


def test_what_a_cpu_without_avx512_can_not_have_is_not_told():
    rows = pool_of(engine(install={"avx512": False})).alternatives()
    assert [row["lever"] for row in rows] == ["block-size", "block-size"]


def test_the_draft_costs_what_the_real_engine_lost():
    drafted = engine(tokens=38_784, parts={"target": TARGET, "draft": DRAFT})
    assert draft_cost(drafted) == 46_592 - 38_784
    assert draft_cost(engine()) is None


def test_a_prediction_stands_beside_what_the_next_engine_says():
    assert predicted(engine(tokens=93_184, dtype="fp8"), engine()) == 93_184
    assert predicted(engine(tokens=38_784, parts={"target": TARGET, "draft": DRAFT}), engine()) == 38_784
    assert predicted(engine(), engine()) is None  # nothing changed
    bigger = engine(tokens=93_184, dtype="fp8", applied={"kv-pool": "2GiB"})
    assert predicted(bigger, engine()) is None  # of another pool nothing was predicted


def test_what_is_not_known_is_not_worked_out():
    unknown = pool_of(engine(parts={}))
    assert (unknown.alternatives(), unknown.with_dtype("fp8"), unknown.each) == ([], None, None)
    assert pool_of(EngineRecord(1, "ready", 0.0, 0.0)) is None and pool_of(None) is None
    # Without a size the tokens themselves say the least that it must be.
    assert pool_of(engine(size="None")).with_dtype("fp8") == 93_184


def test_how_long_sequences_may_be():
    pool = pool_of(engine(tokens=33 * 128))
    assert pool.longest(1, None) == 32 * 128  # one block is set aside
    assert pool.longest(3, None) == 10 * 128
    assert pool.longest(1, 2048) == 2048
    assert pool.longest(100, None) == 0


def test_two_engines_share_what_the_url_has():
    assert pool_of(engine(tokens=2 * 5_120, engines=2)).blocks == 40


def test_the_engine_before_is_the_newest_that_told_its_pool():
    state = State(engines={1: engine(), 2: EngineRecord(2, "failed", 0.0, 0.0), 3: engine(number=3)})
    assert engine_before(state, 3).number == 1
    assert engine_before(state, 1) is None


@pytest.mark.parametrize(("prompt", "output", "empty"), [(128, 1, 0), (128, 2, 127), (100, 29, 0), (1, 1, 127)])
def test_the_last_block_of_a_sequence(prompt, output, empty):
    """The last token that is generated is never fed back."""
    outcome = Outcome("a", None, "ok", 0.0, prompt_tokens=prompt, output_tokens=output)
    assert partial_blocks([outcome], 128)["empty_tokens"] == empty
    assert partial_blocks([], 128) == {"sequences": 0, "empty_tokens": None, "share": None}
