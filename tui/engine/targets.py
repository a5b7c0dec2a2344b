"""What a profile may ask of a result: names, units, and where in vtune.run/1 the value stands."""

import re

from tui.engine.lever_values import OFF
from tui.engine.levers import nearest
from tui.engine.settings import Target
from tui.errors import VtuneError

_TIMES = {"ttft": "ttft_s", "tpot": "tpot_s", "itl": "itl_s", "e2e": "e2e_s"}
_SPLITS = ("all", "cold", "partial", "warm")
_QUANTILES = ("mean", "p50", "p90", "p95", "p99", "max")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_RATES = {
    "error-rate": ("requests.error_rate", False),
    "hit-rate": ("prefix_cache.hit_rate", True),
    "acceptance-rate": ("speculative.acceptance_rate", True),
    "goodput": ("goodput.share", True),
}
_THROUGHPUT = {
    "requests-per-s": "throughput.requests_per_s",
    "prompt-tokens-per-s": "throughput.prompt_tokens_per_s",
    "output-tokens-per-s": "throughput.output_tokens_per_s",
}


def names() -> tuple[str, ...]:
    """Every target name, without the splits of TTFT (``ttft-warm-p95``)."""
    return (*(f"{time}-{quantile}" for time in _TIMES for quantile in _QUANTILES), *_RATES, *_THROUGHPUT)


def target(name: str, limit: object) -> Target | None:
    """A target of a profile; None where the limit is ``off``. VtuneError for an unknown name or a wrong unit."""
    text = str(limit).strip().lower()
    if limit is False or text in OFF:
        return None
    if name in _RATES:
        metric, at_least = _RATES[name]
        return Target(name, metric, _share(name, text), at_least)
    if name in _THROUGHPUT:
        return Target(name, _THROUGHPUT[name], _number(name, text), at_least=True)
    return Target(name, _time_metric(name), _seconds(name, text))


def _time_metric(name: str) -> str:
    time, *split, quantile = name.split("-")
    if time in _TIMES and quantile in _QUANTILES:
        if time == "ttft" and (not split or (len(split) == 1 and split[0] in _SPLITS)):
            return f"ttft_s.{split[0] if split else 'all'}.{quantile}"
        if not split:
            return f"{_TIMES[time]}.{quantile}"
    raise VtuneError(f"no target {name!r}{nearest(name, names())}", f"targets are {', '.join(names())}")


def _seconds(name: str, text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|ms|us|min)", text)
    if not match or float(match[1]) == 0:
        raise VtuneError(
            f"target {name}: {text!r} is not a time", f"give it with its unit, such as {name}: 2.0s or 100ms"
        )
    return float(match[1]) * _SECONDS[match[2]]


def _share(name: str, text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text)
    value = float(match[1]) * (0.01 if match[2] else 1.0) if match else -1.0
    if not 0 <= value <= 1:
        raise VtuneError(f"target {name}: {text!r} is not a share", f"use {name}: 1% (0 % to 100 %)")
    return value


def _number(name: str, text: str) -> float:
    if not re.fullmatch(r"\d+(?:\.\d+)?", text):
        raise VtuneError(f"target {name}: {text!r} is not a number", f"use {name}: 20")
    return float(text)
