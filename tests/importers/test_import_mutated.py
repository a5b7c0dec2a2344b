"""Files of the known kinds with values that nobody expects: refused or skipped in words, never a fault of ours."""

import json
import random

import pytest
from made_imports import SHARED

from tui.errors import VtuneError
from tui.traffic import recording
from tui.traffic.importers import Options, import_file

VALUES = (None, True, -1, 1e308, "", [], {}, [None], {"a": 1}, "x", "9" * 400, 10**30, [[]], "\u2028", {"role": "user"})
SAMPLES = sorted(
    path for path in SHARED.glob("samples/**/*") if path.suffix in (".json", ".jsonl", ".har")
    and path.stat().st_size < 60_000
) if SHARED.is_dir() else []  # fmt: skip


def mutated(value, chance, share):
    if chance.random() < share:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        return {key: mutated(inner, chance, share) for key, inner in value.items() if chance.random() > share / 2}
    if isinstance(value, list):
        return [mutated(inner, chance, share) for inner in value]
    return value


def lines_of(path, chance):
    text = path.read_text(encoding="utf-8-sig")
    rows = text.splitlines()[:30] if path.suffix == ".jsonl" else [text]
    for row in rows:
        try:
            yield json.dumps(mutated(json.loads(row), chance, 0.02))
        except ValueError:
            yield row


@pytest.mark.skipif(not SAMPLES, reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_unexpected_values_are_refused_or_skipped(path, tmp_path):
    for seed in range(3):
        there, out = tmp_path / f"{seed}{path.suffix}", tmp_path / f"{seed}.out.jsonl"
        there.write_text("\n".join(lines_of(path, random.Random(seed))))
        try:
            report = import_file(there, out, Options())
        except VtuneError as refusal:
            assert refusal.what and refusal.mend
            continue
        assert report.read == report.kept + sum(count for count, _ in report.skipped.values())
        assert len(recording.load(out).requests) == report.kept


def test_an_operation_that_is_no_name_is_a_reason_and_not_a_fault(tmp_path):
    said = '[{"role": "user", "content": "q"}]'
    attributes = {"gen_ai.operation.name": ["chat"], "gen_ai.input.messages": said}
    good = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said}
    spans = [
        {"trace_id": "t", "span_id": f"s{n}", "name": "chat", "start_time": f"2026-02-25T10:00:0{n}.000000",
         "end_time": f"2026-02-25T10:00:0{n}.500000", "attributes": words}
        for n, words in enumerate((good, attributes, good))
    ]  # fmt: skip
    (tmp_path / "spans.json").write_text(json.dumps({"trace_id": "t", "spans": spans}))
    report = import_file(tmp_path / "spans.json", tmp_path / "out.jsonl", Options())
    assert (report.read, report.kept) == (3, 2)


def test_values_of_other_kinds_inside_lists_and_times_beyond_any_clock(tmp_path):
    said = {"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": "none"}}}
    known = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, said]
    odd = [{"key": "x", "value": {"kvlistValue": values}} for values in (None, [], "x", {"values": [None, 5, []]})]
    span = {"spanId": "s", "startTimeUnixNano": 10**400, "endTimeUnixNano": 10**500, "attributes": known + odd}
    texts = ["a", {"contents": ["b", 5]}, {"contents": True}, 7, None]
    long = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "9" * 15}}]  # fmt: skip
    files = (
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": long}]}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
        {"text": None, "texts": True},
        {"timestamp": 0, "input_length": 10**400, "output_length": 5},
        {"texts": texts},
    )
    for number, content in enumerate(files):
        (there := tmp_path / f"{number}.json").write_text(json.dumps(content))
        try:
            report = import_file(there, out := tmp_path / f"{number}.jsonl", Options())
        except VtuneError as refusal:
            assert refusal.what and refusal.mend and number < 4
        else:
            assert report.kept == 1 and recording.load(out).requests[0].body["messages"][0]["content"] == "a\nb"
