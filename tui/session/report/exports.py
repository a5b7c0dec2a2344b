"""The report for programs: JSON with every result, CSV with a row per request."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tui.session import secrets
from tui.session.next_step import of_session
from tui.session.report.markdown import visible
from tui.session.report.material import Material
from tui.session.state import EngineRecord

SCHEMA = "vtune.report/1"

_COLUMNS = (
    "id", "group", "status", "reuse", "due_s", "sent_s", "connect_s", "ttft_s", "tpot_s", "e2e_s", "decode_s",
    "prompt_tokens", "cached_tokens", "output_tokens", "chunks", "coalesced", "finish_reason", "http_status",
    "server_queue_s", "server_prefill_s", "server_decode_s", "drafts", "draft_tokens", "accepted_tokens",
    "text_sha256", "error_kind", "error",
)  # fmt: skip


def as_json(material: Material) -> str:
    return dumped(told(material))


def dumped(value: Any) -> str:
    # ASCII: U+009B and its like would reach a terminal as control sequences.
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def told(material: Material) -> dict[str, Any]:
    """The vtune.report/1 object of one session."""
    state = material.state
    return {
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


def as_csv(materials: Sequence[Material]) -> str:
    """A row a request; empty cells are unknown. Answers are not in it, only their hashes.

    Of several sessions each row begins with the session's name.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = list(_rows(materials))
    writer.writerow(rows[0] if rows else ("run", "label", *_COLUMNS))
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


def as_jsonl(materials: Sequence[Material]) -> str:
    """A JSON object a request, with the columns of the CSV; null is unknown."""
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in _rows(materials))


def _rows(materials: Sequence[Material]) -> Iterator[dict[str, Any]]:
    for material in materials:
        session = {"session": material.state.header.get("session")} if len(materials) > 1 else {}
        for run in material.runs:
            for outcome in run.outcomes:
                told = {name: getattr(outcome, name) for name in _COLUMNS}
                yield {**session, "run": run.number, "label": run.record.label, **told}


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = visible(value)
    # A spreadsheet would run text that begins like a formula.
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
