"""Whether sessions can be compared: what must be equal for a ratio to be of the same thing, and what else differs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tui.session.report.figures import size
from tui.session.report.material import Material, RunMaterial

Runs = Sequence[RunMaterial]


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else f"S{place + 1}"


@dataclass(frozen=True, slots=True)
class Obstacles:
    words: tuple[str, ...]
    withheld: frozenset[int]  # sessions of which no ratio is told


@dataclass(frozen=True, slots=True)
class _Fact:
    """`withholds`: with another value the requests are not the same, or not sent alike; no ratio is told."""

    name: str
    of: Callable[[RunMaterial], Any]
    withholds: bool
    why: str


def _sha(run: RunMaterial) -> str:
    return str(run.result["recording"]["sha256"] or "unknown")[:12]


_FACTS = (
    _Fact("recording", _sha, True, "the requests are not the same"),
    _Fact("model", lambda r: r.result["engine"]["model"], True, "another model takes another time"),
    _Fact("pace", lambda r: (r.record.pace_text, r.result["pace"]["speed"]), True, "the requests were sent otherwise"),
    _Fact("fixed lengths", lambda r: bool(r.record.meta.get("options", {}).get("fix_lengths")), True,
          "the answers have other lengths"),
    _Fact("KV pool", lambda r: r.result["engine"]["kv_cache_tokens"], False,
          "another pool holds another share of the prefixes, and preempts at another load"),
    _Fact("block size", lambda r: r.result["engine"]["block_size"], False, "a hit is counted in other steps"),
    _Fact("class of start", lambda r: r.result["engine"]["start_kind"], False, "an engine is not equally settled"),
    _Fact("prefix cache before a run", lambda r: r.result["cache_reset"], False, "what is warm is not the same"),
    _Fact("number of requests", lambda r: r.result["requests"]["sent"], False, "only those in both are compared"),
)  # fmt: skip


def obstacles(arms: Sequence[Sequence[Runs]]) -> Obstacles:
    """`arms`: of each its runs in each session; every session is held against the first."""
    found: dict[str, None] = {}
    withheld: set[int] = set()
    for sides in arms:
        for place, runs in enumerate(sides):
            if not place or not runs or not sides[0]:
                continue
            for fact in _FACTS:
                ours, theirs = _values(fact, runs), _values(fact, sides[0])
                if ours != theirs:
                    words = f"{fact.name}: {_words(theirs)} in A, {_words(ours)} in {_letter(place)}: {fact.why}"
                    found.setdefault(words, None)
                    if fact.withholds:
                        withheld.add(place)
    return Obstacles(tuple(found), frozenset(withheld))


def _values(fact: _Fact, runs: Runs) -> list[Any]:
    return sorted({fact.of(run) for run in runs}, key=str)


def _words(values: Sequence[Any]) -> str:
    return " and ".join(_word(value) for value in values)


def _word(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, tuple):
        return f"{value[0]} at {value[1]:g}x"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)


def differences(materials: Sequence[Material]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What describes each session; all of it, so that what is equal is seen as well."""
    rows = {
        "begun": [_header(m, "created_at") for m in materials],
        "vLLM": [_engines(m, "vllm") for m in materials],
        "model": [_engines(m, "model") for m in materials],
        "device": [_engines(m, "device") for m in materials],
        "KV cache tokens": [_engines(m, "kv_cache_tokens") for m in materials],
        "start": [_engines(m, "start_kind") for m in materials],
        "CPU": [_host(m, "cpu") for m in materials],
        "cores": [_host(m, "cores") for m in materials],
        "memory": [size(_raw(m).get("memory_bytes")) for m in materials],
        "system": [_host(m, "system") for m in materials],
        "vtune": [_header(m, "vtune") for m in materials],
        "recording": [_each(m.runs, lambda r: r.result["recording"]["name"]) for m in materials],
        "its SHA-256": [_each(m.runs, _sha) for m in materials],
        "pace": [_each(m.runs, lambda r: r.record.pace_text) for m in materials],
        "runs": [str(len(m.runs)) for m in materials],
    }
    return tuple((name, tuple(values)) for name, values in rows.items())


def _raw(material: Material) -> dict[str, Any]:
    return material.state.header.get("host") or {}


def _header(material: Material, name: str) -> str:
    return str(material.state.header.get(name) or "unknown")


def _host(material: Material, name: str) -> str:
    return str(_raw(material).get(name) or "unknown")


def _engines(material: Material, name: str) -> str:
    return _each(material.runs, lambda r: r.result["engine"][name])


def _each(runs: Runs, of: Callable[[RunMaterial], Any]) -> str:
    return ", ".join(dict.fromkeys(_word(of(run)) for run in runs)) or "unknown"
