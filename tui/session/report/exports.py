"""The report for programs: JSON with every result, CSV with a row per request."""

import csv
import io
import json
from typing import Any

from tui.session import secrets
from tui.session.next_step import of_session
from tui.session.report.markdown import visible
from tui.session.report.material import Material, RunMaterial
from tui.session.state import EngineRecord
from tui.traffic.outcome import Outcome

SCHEMA = "vtune.report/1"

_COLUMNS = (
    "id", "group", "status", "reuse", "due_s", "sent_s", "connect_s", "ttft_s", "tpot_s", "e2e_s", "decode_s",
    "prompt_tokens", "cached_tokens", "output_tokens", "chunks", "coalesced", "finish_reason", "http_status",
    "server_queue_s", "server_prefill_s", "server_decode_s", "drafts", "draft_tokens", "accepted_tokens",
    "text_sha256", "error_kind", "error",
)  # fmt: skip


def as_json(material: Material) -> str:
    state = material.state
    report = {
        "schema": SCHEMA,
        "session": state.header.get("session"),
        "header": state.header,
        "profile": _profile(state.profile),
        "baseline": state.baseline,
        "engines": [_engine(engine) for _, engine in sorted(state.engines.items())],
        "runs": [run.result for run in material.runs],
        "ratios": material.ratios,
        "comparison": material.comparison,
        "next_step": _next_step(material),
    }
    # ASCII: U+009B and its like would reach a terminal as control sequences.
    return json.dumps(report, indent=2, allow_nan=False) + "\n"


def _next_step(material: Material) -> dict[str, Any] | None:
    found = of_session(material.state)
    return None if found is None else {"run": found[0], **found[1].to_json()}


def _profile(profile: dict[str, Any]) -> dict[str, Any]:
    told = {k: v for k, v in profile.items() if k != "text"}
    return told | {"settings": secrets.settings(profile.get("settings") or ())}


def _engine(engine: EngineRecord) -> dict[str, Any]:
    names = ("number", "state", "url", "python", "asked", "applied", "mismatches", "vllm", "model", "device",
             "block_size", "kv_cache_tokens", "max_model_len", "start_kind", "start_s", "warnings",
             "failure")  # fmt: skip
    return {
        **{name: getattr(engine, name) for name in names},
        "argv": secrets.argv(engine.argv),
        "env": secrets.env(engine.env),
    }


def as_csv(material: Material) -> str:
    """Empty cells are unknown. Answers are not in it, only their hashes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("run", "label", *_COLUMNS))
    for run in material.runs:
        writer.writerows(_row(run, outcome) for outcome in run.outcomes)
    return out.getvalue()


def _row(run: RunMaterial, outcome: Outcome) -> list[Any]:
    return [run.number, _cell(run.record.label), *(_cell(getattr(outcome, name)) for name in _COLUMNS)]


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = visible(value)
    # A spreadsheet would run text that begins like a formula.
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
