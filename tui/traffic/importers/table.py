"""All formats that vtune imports, in the order in which a file is tried against them."""

from pathlib import Path

from tui.errors import VtuneError
from tui.traffic.importers import (
    aiperf,
    csv_traces,
    har,
    langfuse,
    lengths,
    litellm,
    mitmproxy,
    openai,
    otel,
    own,
    prompts,
    refused,
    sharegpt,
    vllm_log,
    weka,
)
from tui.traffic.importers.format import Format
from tui.traffic.importers.sniff import sniff

FORMATS: tuple[Format, ...] = (
    own.OWN, openai.BATCH, har.HAR, otel.OTEL, langfuse.LANGFUSE, litellm.LITELLM, aiperf.SAGEMAKER, aiperf.INPUTS,
    lengths.BAILIAN, weka.WEKA, sharegpt.SHAREGPT, aiperf.MULTI, lengths.TIMED, lengths.GUIDELLM_TRACE,
    lengths.MOONCAKE, prompts.GUIDELLM, prompts.CUSTOM, openai.FINETUNE, openai.BODY, aiperf.SINGLE, prompts.PLAIN,
    csv_traces.AZURE, csv_traces.BURSTGPT, mitmproxy.MITMPROXY, vllm_log.VLLM_LOG,
)  # fmt: skip
# Other names that people may know a format by.
ALIASES = {
    "openai": "openai-batch", "batch": "openai-batch", "finetune": "openai-finetune", "messages": "aiperf-raw",
    "aiperf": "mooncake", "aiperf-mooncake": "mooncake", "aiperf-schedule": "mooncake", "inference-perf": "otel",
    "mitm": "mitmproxy", "qwen": "bailian", "vllm-timed": "timed-trace", "vllm-bench": "vllm-custom",
    "vllm-logs": "vllm-log",
}  # fmt: skip


def named(name: str) -> Format:
    """Raises VtuneError naming all formats."""
    wanted = ALIASES.get(name, name)
    for format in FORMATS:
        if format.name == wanted:
            return format
    raise VtuneError(f"no format {name!r}", f"one of: {', '.join(f.name for f in FORMATS)}")


def detect(path: Path, head: bytes) -> tuple[Format, str]:
    """(format, why) by what is in the file. Raises VtuneError for what is not imported, with the reason."""
    found = sniff(head)
    refusal = refused.surely(found)
    if refusal is None:
        for format in FORMATS:
            if reason := format.matches(found):
                return format, reason
    what, mend = refusal or refused.why(found)
    raise VtuneError(f"{path}: {what}", mend)
