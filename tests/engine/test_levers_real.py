"""Every lever that vLLM has on a CPU, both ways: started through the warm starter, and read back as asked."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tui.engine import applied, levers, model, model_make
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine
from tui.engine.warm import Starters
from tui.errors import VtuneError

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]

# Lever -> its words; the first two of a lever are its two directions.
MATRIX = {
    "prefix-caching": ["on", "off"],
    "prefix-hash": ["sha256", "sha256_cbor", "xxhash"],
    "chunked-prefill": ["2048", "off", "512", "512/256"],
    "max-num-seqs": ["128", "16"],
    "scheduling-policy": ["fcfs", "priority"],
    "async-scheduling": ["off", "auto"],
    "kv-dtype": ["auto", "fp8", "fp8_e5m2"],
    "block-size": ["32", "64", "128", "auto"],
    "kv-pool": ["512MiB", "1GiB"],
    "speculative": ["off", "ngram:4:2-4", "ngram:2:3-3", "draft-model:bundled:smollm2-135m-draft:3", "suffix"],
    "eager": ["on", "off", "O0", "O1"],
    "quantization": ["auto"],  # the bundled model has none to turn on
    "tensor-parallel": ["1"],
    "data-parallel": ["1"],
}
NOT_HERE = {"kv-offload": "CUDA, ROCm and XPU only"}
SAMPLE = [  # all of one start at once (in `make test` too), then what only speculation shows
    ("prefix-caching=off", "chunked-prefill=512/256", "max-num-seqs=16", "scheduling-policy=priority", "kv-dtype=fp8",
     "block-size=64"),
    pytest.param(("speculative=ngram:4:2-4", "prefix-hash=sha256_cbor"), marks=pytest.mark.matrix),
]  # fmt: skip


async def test_every_lever_is_in_the_matrix_or_says_why_not():
    assert {*MATRIX, *NOT_HERE} == {lever.name for lever in levers.LEVERS}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def warm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Keeper, Starters]]:
    keeper = await Keeper.open()
    starters = Starters(keeper, tmp_path_factory.mktemp("starter"))
    yield keeper, starters
    await starters.close()
    await keeper.close()


async def ran(launch: Launch, warm: tuple[Keeper, Starters], log: Path) -> applied.Applied:
    """What the engine says of itself once it has given a real token."""
    keeper, starters = warm
    await starters.ready(launch)
    engine = Engine(launch, keeper, log, lambda event: None, warm=starters)
    await engine.start()
    try:
        assert engine.start_kind == "warm"
        return await applied.read(launch.url, launch.asked, model=launch.model, expected=launch.expected)
    finally:
        await engine.stop()


def launch_of(real_launch: Callable[..., Launch], *settings: str) -> Launch:
    """A launch with these settings; what this install can't have is skipped with vtune's own words."""
    try:
        return real_launch(*settings)
    except VtuneError as error:
        pytest.skip(f"{error.what}; {error.mend}")


def possible(real_launch: Callable[..., Launch], setting: str) -> bool:
    """Whether this machine and install can have it: fp8 needs AVX-512."""
    try:
        real_launch(setting)
    except VtuneError as error:
        print(f"left out: {error.what}")
        return False
    return True


@pytest.mark.parametrize("settings", SAMPLE, ids=["other way", "speculation"])
async def test_levers_of_a_sample_run_as_asked(settings, real_launch, warm, tmp_path):
    settings = [setting for setting in settings if possible(real_launch, setting)]
    launch = real_launch(*settings)
    told = await ran(launch, warm, tmp_path / "engine.log")
    for setting in settings:
        name, _, words = setting.partition("=")
        assert levers.get(name).matches(words, told.levers[name]), setting
    assert told.mismatches == ()


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "words"), [(name, words) for name, all in MATRIX.items() for words in all])
async def test_a_lever_runs_as_asked(name, words, real_launch, warm, tmp_path):
    if "bundled:smollm2-135m-draft" in words and not model_make.is_whole(model.place("bundled:smollm2-135m-draft")):
        pytest.skip("the draft model is not made yet: vtune replay --set speculative=draft-model:... makes it")
    launch = launch_of(real_launch, f"{name}={words}")
    assert launch.asked[name] == words
    told = await ran(launch, warm, tmp_path / "engine.log")
    assert told.levers[name] is not None, "this engine does not say"
    assert levers.get(name).matches(words, told.levers[name])
    assert told.mismatches == ()


@pytest.mark.matrix
async def test_what_a_cpu_overrides_is_seen_after_the_start(real_launch, warm, tmp_path):
    """Told before (the rule async-on-cpu) and after."""
    launch = launch_of(real_launch, "async-scheduling=on")
    assert any("never used on CPU" in words for words in launch.warnings)
    told = await ran(launch, warm, tmp_path / "engine.log")
    assert told.mismatches == ("async-scheduling: asked on, the engine runs off",)


async def test_what_vllm_refuses_is_refused_before_the_start(real_launch):
    """0.32 refuses it on a CPU too, where it would not be used: seen in a start."""
    with pytest.raises(VtuneError, match="async-scheduling=on: not with speculative=ngram"):
        real_launch("async-scheduling=on", "speculative=ngram")
