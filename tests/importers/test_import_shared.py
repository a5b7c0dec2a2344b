"""The hard inputs and the samples of other tools that lie beside the project, where they do."""

import json
import re
from pathlib import Path

import pytest
from made_imports import SHARED, ids, times

from tui.errors import VtuneError
from tui.traffic import recording
from tui.traffic.importers import Options, import_file

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not beside this checkout")
HARD, SAMPLES = SHARED / "hard", SHARED / "samples"
EXPECT = json.loads((HARD / "EXPECT.json").read_text()) if HARD.is_dir() else {}
REFUSED = {
    "goreplay",
    "servegen",
    "vcr",
    "config-",
    "brokenfile",
    "event_stream",
    "postdata",
    "with-bom",
    "README",
    "LICENSES",
}


def samples():
    return sorted(p for p in SAMPLES.rglob("*") if p.is_file()) if SAMPLES.is_dir() else []


def bring(path, tmp_path, **options):
    out = tmp_path / "out.jsonl"
    report = import_file(path, out, Options(**options))
    return recording.load(out), report


@pytest.mark.parametrize("name", sorted(EXPECT))
def test_hard_inputs_give_what_is_expected(name, tmp_path):
    wanted = EXPECT[name]
    loaded, report = bring(HARD / name, tmp_path)
    assert report.read == report.kept + sum(n for n, _ in report.skipped.values()) and report.kept == len(
        loaded.requests
    )
    if isinstance(wanted.get("records"), int):
        assert report.read == wanted["records"]
    if "unit" in wanted:
        assert report.time["unit"] == wanted["unit"]
    if "offsets_s" in wanted:
        assert times(loaded) == pytest.approx(wanted["offsets_s"], abs=1e-6)
    for key in ("ids", "order_after_sort"):
        if key in wanted:
            assert ids(loaded) == wanted[key]
    for id in (
        *wanted.get("good", ()),
        *wanted.get("lenient_good", ()),
        *wanted.get("text_only", ()),
        *wanted.get("must_stay", ()),
    ):
        assert id in ids(loaded)
    gone = (
        "no_timestamp",
        "bad_timestamp",
        "ids_that_cannot_be_sent_as_utf8",
        "skip_on_text_model",
        "reject",
        "cut",
        "not_generation",
    )
    for id in (id for key in gone for id in wanted.get(key, ())):
        assert id not in ids(loaded)


def test_hard_secrets_reach_no_output(tmp_path):
    wanted = EXPECT["12_secrets.jsonl"]
    _, report = bring(HARD / "12_secrets.jsonl", tmp_path)
    everything = (tmp_path / "out.jsonl").read_text() + json.dumps(report.to_json())
    assert not [secret for secret in wanted["must_not_appear_in_any_output_file"] if secret in everything]
    assert any("looks like a key" in note for note in report.all_notes())


def test_hard_bad_lines_are_named_by_number(tmp_path):
    _, report = bring(HARD / "05_bad_lines.jsonl", tmp_path)
    named = {int(re.search(r"jsonl:(\d+):", e)[1]) for _, examples in report.skipped.values() for e in examples}
    assert sorted(named) == EXPECT["05_bad_lines.jsonl"]["error_lines"]


def test_hard_links_make_the_expected_sessions(tmp_path):
    loaded, report = bring(HARD / "16_multi_turn_links.jsonl", tmp_path)
    sessions = {}
    for request in loaded.requests:
        sessions.setdefault(request.extra["session"], set()).add(int(request.id))
    assert sessions == {k: set(v) for k, v in EXPECT["16_multi_turn_links.jsonl"]["sessions"].items()}
    assert report.links["forks"] == report.links["lost_parents"] == report.links["loops"] == 1


@pytest.mark.parametrize("path", samples(), ids=lambda p: str(p.relative_to(SAMPLES)))
def test_samples_import_or_are_refused_with_a_reason(path: Path, tmp_path):
    if any(part in str(path.relative_to(SAMPLES)) for part in REFUSED):
        with pytest.raises(VtuneError) as caught:
            bring(path, tmp_path)
        assert caught.value.code == 2 and caught.value.mend
        assert not (tmp_path / "out.jsonl").exists()
        return
    loaded, report = bring(path, tmp_path)
    assert loaded.requests and report.format
