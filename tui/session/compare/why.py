"""What moved between the baseline and an arm beside the times: causes, costs, and gains without a cause."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui.session.compare.pairing import Replayed
from tui.session.compare.verdict import Verdict
from tui.session.summary import UNKNOWN, seconds, share

MOVED = 0.05  # relative; and the replays of the two arms must not overlap

Find = Callable[[Mapping[str, Any]], float | None]


def _at(*keys: str) -> Find:
    def find(result: Mapping[str, Any]) -> float | None:
        value: Any = result
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    return find


def _unless_off(block: str, name: str) -> Find:
    """0 where the lever is off: there, nothing hits and nothing is proposed, and that is no guess."""

    def find(result: Mapping[str, Any]) -> float | None:
        return 0.0 if result[block]["state"] == "off" else result[block][name]

    return find


def _cached(result: Mapping[str, Any]) -> float | None:
    hits, ok = _unless_off("prefix_cache", "hits")(result), result["requests"]["ok"]
    return hits / ok if hits is not None and ok else None


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _decimal(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _bytes(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / 2**30:.2f} GiB"


@dataclass(frozen=True, slots=True)
class Signal:
    """A figure of a run. `helps`: the direction in which it makes requests faster, 0 for a mere companion."""

    name: str
    find: Find
    told: Callable[[float | None], str]
    helps: int
    metrics: tuple[str, ...]  # whose times it can explain, by their first word
    block: str | None = None  # of the result, where its lever's state is told


_PREFILL, _DECODE, _BOTH = ("ttft_s", "e2e_s", "throughput"), ("tpot_s", "e2e_s", "throughput"), (
    "ttft_s", "tpot_s", "e2e_s", "throughput")  # fmt: skip
HITS = Signal("hit rate", _unless_off("prefix_cache", "hit_rate"), share, 1, _PREFILL, "prefix_cache")
ACCEPTANCE = Signal("acceptance", _unless_off("speculative", "acceptance_rate"), share, 1, _DECODE, "speculative")
LENGTH = Signal(
    "accepted length", _unless_off("speculative", "mean_acceptance_length"), _decimal, 1, _DECODE, "speculative"
)
SIGNALS = (
    HITS,
    Signal("cached tokens a request", _cached, _count, 1, _PREFILL),
    Signal("prefill p50", _at("server", "prefill_s", "p50"), seconds, -1, _PREFILL),
    Signal("queue mean", _at("server", "queue_s", "mean"), seconds, -1, _PREFILL),
    ACCEPTANCE,
    LENGTH,
    Signal("tokens a step of a request", _at("speculative", "tokens_per_step"), _decimal, 1, _DECODE),
    Signal("decode p50", _at("server", "decode_s", "p50"), seconds, -1, _DECODE),
    Signal("preemptions", _at("kv_cache", "preemptions"), _count, -1, _BOTH),
    Signal("batch size a step", _at("steps", "requests"), _decimal, 0, _BOTH),
    Signal("tokens in a step", _at("steps", "tokens"), _count, 0, _BOTH),
    Signal("in flight mean", _at("in_flight", "mean"), _decimal, 0, _BOTH),
    Signal("KV peak", _at("kv_cache", "usage_peak"), share, 0, _BOTH),
    Signal("KV cache tokens", _at("engine", "kv_cache_tokens"), _count, 0, ()),
    Signal("memory peak", _at("memory", "engine_pss_peak_bytes"), _bytes, 0, ()),
    Signal("GPU memory", _at("memory", "gpu_used_bytes"), _bytes, 0, ()),
)
# The direction that costs.
COSTS = {"KV cache tokens": -1, "memory peak": 1, "GPU memory": 1, "preemptions": 1, "KV peak": 1}

# A gain of a lever has one way to come about: its metrics by their first word, and what must have moved.
_CAUSES = {"prefix-caching": (("ttft_s",), HITS), "speculative": (("tpot_s",), ACCEPTANCE)}


@dataclass(frozen=True, slots=True)
class Move:
    """A signal in both arms, each the mean over its replays; `way` is +1, -1, 0 (did not move), None (unknown)."""

    signal: Signal
    base: float | None
    arm: float | None
    way: int | None
    off: tuple[bool, bool] = (False, False)  # its lever is off in the baseline, in the arm
    ceiling: float | None = None

    @property
    def words(self) -> str:
        before, after = (
            "off" if off else self.signal.told(value)
            for value, off in zip((self.base, self.arm), self.off, strict=True)
        )
        possible = f" of {share(self.ceiling)} possible" if self.ceiling is not None and self.arm else ""
        return f"{self.signal.name} from {before} to {after}{possible}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.signal.name, "baseline": self.base, "arm": self.arm, "words": self.words}


def moves(arm: Sequence[Replayed], base: Sequence[Replayed], fixed_lengths: bool) -> list[Move]:
    """Every signal that is known. With fixed lengths acceptance is none: it goes on past an answer's own end."""
    shown = [s for s in SIGNALS if not (fixed_lengths and s in (ACCEPTANCE, LENGTH))]
    return [_move(signal, arm, base) for signal in shown]


def _move(signal: Signal, arm: Sequence[Replayed], base: Sequence[Replayed]) -> Move:
    ours, theirs = ([v for r in side if (v := signal.find(r.result)) is not None] for side in (arm, base))
    if not ours or not theirs:
        return Move(signal, _mean(theirs), _mean(ours), None)
    way = 1 if min(ours) > max(theirs) else -1 if max(ours) < min(theirs) else 0
    ours_mean, theirs_mean = sum(ours) / len(ours), sum(theirs) / len(theirs)
    if abs(ours_mean - theirs_mean) <= MOVED * max(abs(theirs_mean), abs(ours_mean)):
        way = 0
    ceiling = next((r.result["prefix_cache"]["ceiling"] for r in arm), None) if signal is HITS else None
    return Move(signal, theirs_mean, ours_mean, way, (_off(signal, base), _off(signal, arm)), ceiling)


def _off(signal: Signal, replays: Sequence[Replayed]) -> bool:
    return signal.block is not None and all(r.result[signal.block]["state"] == "off" for r in replays)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def explain(verdict: Verdict, found: Iterable[Move], changed: Iterable[str]) -> tuple[str, bool]:
    """Why, in words, and whether the gain is suspicious. `changed`: levers in which the arms differ."""
    if verdict.word == "too few":
        return verdict.needs or "", False
    if verdict.word == "no difference seen":
        return _nothing_seen(verdict), False
    first = verdict.metric.name.partition(".")[0]
    own = [m for m in found if first in m.signal.metrics and m.way is not None]
    way = 1 if verdict.word == "faster" else -1
    causes = [m for m in own if m.way and m.way == way * m.signal.helps]
    missing = _missing(first, own, changed) if verdict.word == "faster" else None
    if missing is not None:
        return f"suspicious: its cause did not move ({missing.words})", True
    if causes:
        return ", ".join(m.words for m in causes), False
    if verdict.word == "faster" and any(m.signal.helps for m in own):
        return "suspicious: nothing that explains it moved", True
    return "nothing that explains it is known to have moved", False


def _missing(first: str, own: Sequence[Move], changed: Iterable[str]) -> Move | None:
    """The cause that a gain of the changed lever must have and has not; none where another lever changed as well."""
    levers = list(changed)
    if len(levers) != 1 or levers[0] not in _CAUSES:
        return None
    metrics, cause = _CAUSES[levers[0]]
    return next((m for m in own if first in metrics and m.signal is cause and m.way != 1), None)


def _nothing_seen(verdict: Verdict) -> str:
    if verdict.ci is None:
        return ""
    low, high = verdict.ci
    together = "" if low <= 1 <= high else ", but of so many verdicts one shows as much by chance"
    return f"anything from x{low:.2f} to x{high:.2f} fits{together}" + (f"; {verdict.needs}" if verdict.needs else "")


def costs(found: Iterable[Move], verdicts: Iterable[Verdict]) -> list[str]:
    """What the arm pays: memory, KV tokens, and every split that became slower."""
    paid = [m.words for m in found if m.way and COSTS.get(m.signal.name) == m.way]
    slower = [f"{v.metric.title} of {v.split} requests x{v.ratio:.2f}" for v in verdicts if v.word == "slower"]
    return [*paid, *slower]
