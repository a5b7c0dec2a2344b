"""Levers on how the model is computed: weights, graphs, devices."""

from collections.abc import Mapping
from typing import Any

from tui.engine import lever_values
from tui.engine.lever import Lever, ReadBack, Surroundings, Words
from tui.engine.lever_reuse import any_when_auto, bool_flag, bool_words, text_given


def _quantization_read(read: ReadBack) -> Words | None:
    section = read.server_info.get("model_config")
    if not isinstance(section, dict) or "quantization" not in section:
        return None
    return str(section["quantization"] or "none")


def quantization_of(config: Mapping[str, Any] | None) -> str | None:
    """The method that a checkpoint's config.json names; ``none`` where it names none, None without one."""
    if config is None:
        return None
    section = config.get("quantization_config")
    return str(section.get("quant_method") or "none") if isinstance(section, Mapping) else "none"


def _quantization_default(around: Surroundings) -> Words:
    return (quantization_of(around.facts_of(around.model)) if around.model else None) or "auto"


QUANTIZATION = Lever(
    name="quantization",
    title="weight quantization",
    group="kernel",
    owns=("quantization",),
    parse=lambda words: lever_values.name("quantization", words),
    default=lambda around: "auto",
    flags=lambda words, around: [] if words == "auto" else ["--quantization", words],
    read_back=_quantization_read,
    from_flags=lambda flags: text_given("quantization", flags),
    vllm_default=_quantization_default,
    kind="choice",
    choices_flag="quantization",
    matches=any_when_auto,
    gain="smaller weights: faster decode and a larger KV pool",
    cost="accuracy; the checkpoint, device and dtype must fit the method",
    hint="auto | fp8 | awq | gptq | ...",
    core=False,
)

def _eager_flags(words: Words, around: Surroundings) -> list[str]:
    flags = bool_flag("enforce-eager", "on" if words == "on" else "off")
    return [*flags, "--optimization-level", words[1:]] if words in lever_values.LEVELS else flags


def _eager_read(read: ReadBack) -> Words | None:
    eager = bool_words(read.config("model_config", "enforce_eager"))
    level = read.server_info.get("optimization_level")
    return eager if eager != "off" or level is None else f"O{level}"


def _eager_given(flags: Mapping[str, Any]) -> Words | None:
    if flags.get("enforce-eager"):
        return "on"
    if (level := flags.get("optimization-level")) is not None:
        return lever_values.eager(f"O{str(level).upper().removeprefix('O')}")
    return "off" if "enforce-eager" in flags else None


def _same_level(asked: Words, applied: Words) -> bool:
    return asked == applied or (asked == "off" and applied in lever_values.LEVELS)


EAGER = Lever(
    name="eager",
    title="eager mode",
    group="kernel",
    owns=("enforce-eager", "optimization-level"),
    parse=lever_values.eager,
    default=lambda around: "off",
    flags=_eager_flags,
    read_back=_eager_read,
    matches=_same_level,
    from_flags=_eager_given,
    kind="choice",
    gain="starts much faster: nothing is compiled, no graph is captured; O0 to O3 (vLLM 0.12) trade start for speed",
    cost="slower steps, most of all decode on a GPU",
    hint="on | off | O0 | O1 | O2 | O3",
    toggle=("off", "on"),
    choices=("on", "off", *lever_values.LEVELS),
    core=False,
)


def _parallel(name: str, title: str, flag: str, gain: str, cost: str) -> Lever:
    key = flag.replace("-", "_")

    def read(back: ReadBack) -> Words | None:
        value = back.config("parallel_config", key)
        return None if value is None else str(value)

    return Lever(
        name=name,
        title=title,
        group="kernel",
        owns=(flag,),
        parse=lambda words: lever_values.count(name, words),
        default=lambda around: "1",
        flags=lambda words, around: [f"--{flag}", words],
        read_back=read,
        from_flags=lambda flags: text_given(flag, flags),
        kind="number",
        least=1,
        unit="devices",
        gain=gain,
        cost=cost,
        hint="a number of devices, such as 2",
        core=False,
    )


TENSOR_PARALLEL = _parallel(
    "tensor-parallel",
    "tensor parallel",
    "tensor-parallel-size",
    gain="one model over several devices: lower latency, and more memory for its KV pool",
    cost="devices, and their talk on every layer",
)
DATA_PARALLEL = _parallel(
    "data-parallel",
    "data parallel",
    "data-parallel-size",
    gain="several engines behind one address: more requests at once",
    cost="each has its own prefix cache: hits depend on which engine a request meets",
)
