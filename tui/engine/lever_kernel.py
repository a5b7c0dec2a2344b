"""Levers on how the model is computed: weights, graphs, devices."""

from tui.engine import lever_values
from tui.engine.lever import Lever, ReadBack, Words
from tui.engine.lever_reuse import any_when_auto, bool_flag, bool_words


def _quantization_read(read: ReadBack) -> Words | None:
    section = read.server_info.get("model_config")
    if not isinstance(section, dict) or "quantization" not in section:
        return None
    return str(section["quantization"] or "none")


QUANTIZATION = Lever(
    name="quantization",
    title="weight quantization",
    group="kernel",
    owns=("quantization",),
    parse=lambda words: lever_values.name("quantization", words),
    default=lambda around: "auto",
    flags=lambda words, around: [] if words == "auto" else ["--quantization", words],
    read_back=_quantization_read,
    matches=any_when_auto,
    gain="smaller weights: faster decode and a larger KV pool",
    cost="accuracy; the checkpoint, device and dtype must fit the method",
    hint="auto | fp8 | awq | gptq | ...",
    core=False,
)

EAGER = Lever(
    name="eager",
    title="eager mode",
    group="kernel",
    owns=("enforce-eager",),
    parse=lambda words: lever_values.switch("eager", words),
    default=lambda around: "off",
    flags=lambda words, around: bool_flag("enforce-eager", words),
    read_back=lambda read: bool_words(read.config("model_config", "enforce_eager")),
    gain="starts much faster: nothing is compiled, no graph is captured",
    cost="slower steps, most of all decode on a GPU",
    hint="on | off",
    toggle=("off", "on"),
    choices=("on", "off"),
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
        gain=gain,
        cost=cost,
        hint="a number of devices",
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
