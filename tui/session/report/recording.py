"""What was replayed: recordings with their hashes, and how each run sent them."""

from tui.session.report import histogram
from tui.session.report.figures import FEW, NONE, count, number
from tui.session.report.markdown import code, escaped, fence, table
from tui.session.report.material import Material, RunMaterial

_CACHE = {
    "done": "reset", "salted": "empty name space (cache_salt)", "kept": "kept", "unavailable": "could not be reset",
}  # fmt: skip

_TOKENS = ("mean", "p50", "p95", "min", "max")


def section(material: Material) -> str:
    if not material.runs:
        return ""
    parts = ["## Recording", _recordings(material), *_lengths(material), "How it was sent:", _paces(material)]
    return "\n\n".join(parts)


def _lengths(material: Material) -> list[str]:
    """How long the prompts were, a histogram a recording, from the run that learnt most of them."""
    most: dict[str, list[int]] = {}
    for run in material.runs:
        key = str(run.result["recording"]["sha256"])
        lengths = [o.prompt_tokens for o in run.outcomes if o.prompt_tokens is not None]
        if len(lengths) > len(most.get(key, [])):
            most[key] = lengths
    return [fence(text) for lengths in most.values() if (text := histogram.tokens(lengths))]


def _recordings(material: Material) -> str:
    head = ("recording", "requests", "made up", "prompt tokens: n", *_TOKENS, "SHA-256")
    rows: dict[str, list[str]] = {}
    for run in material.runs:
        recording, tokens = run.result["recording"], run.result["recording"]["prompt_tokens"]
        key = f"{recording['sha256']} {recording['name']} {recording['requests']}"
        best = rows.get(key)
        if best is None or int(best[3]) < tokens["n"]:
            missing = FEW if tokens["n"] else NONE
            values = [missing if tokens[q] is None else number(tokens[q], 0) for q in _TOKENS]
            made_up = {True: "yes", False: "no", None: "unknown"}[recording["synthetic"]]
            rows[key] = [code(recording["name"] or "unknown"), count(recording["requests"]), made_up, str(tokens["n"]),
                         *values, code(recording["sha256"] or "unknown")]  # fmt: skip
    return table(head, rows.values())


def _paces(material: Material) -> str:
    head = ("run", "recording", "pace", "speed", "in flight: mean", "peak", "token budget", "prefix cache before",
            "warm-up")  # fmt: skip
    return table(head, [_pace(run) for run in material.runs], 3)


def _budget(run: RunMaterial) -> str:
    """Tokens a step: what the engine applied, else what it was asked."""
    engine = run.result["engine"]
    words = engine["applied"].get("chunked-prefill") or engine["asked"].get("chunked-prefill")
    return code(words) if words else "unknown"


def _pace(run: RunMaterial) -> list[str]:
    flight, pace = run.result["in_flight"], run.result["pace"]
    return [
        str(run.number),
        code(run.result["recording"]["name"] or "unknown"),
        code(run.record.pace_text or "unknown"),
        f"{pace['speed']:g}x",
        number(flight["mean"], 2),
        count(flight["peak"]),
        _budget(run),
        _CACHE.get(run.record.cache_reset or "", "unknown"),
        escaped(run.record.start_state or "none"),
    ]
