"""Several sessions in one report: what is held against what, and what is not because it is another thing."""

import csv
import io
import json
import os
import shutil
from pathlib import Path

import made_session
import pytest
from markdown_it import MarkdownIt

from tui.cli import main
from tui.session import report

GOLDEN = Path(__file__).parent / "golden" / "across.md"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    return (
        made_session.comparing(tmp_path_factory.mktemp("a")),
        made_session.whole(tmp_path_factory.mktemp("b")),
    )


@pytest.fixture
def other(sessions, tmp_path):
    """Session A again with words of its journal changed: another day, machine, version, pool, recording."""

    def make(*changes: tuple[str, str], slower: float = 1.0) -> Path:
        copy = shutil.copytree(sessions[0], tmp_path / "other")
        journal = copy / "journal.jsonl"
        text = journal.read_text()
        for old, new in (('"session": "20260921-120000"', '"session": "20260922-090000"'), *changes):
            assert old in text, old
            text = text.replace(old, new)
        journal.write_text(text)
        for file in copy.glob("run-*.jsonl"):
            file.write_text("".join(_slowed(line, slower) for line in file.read_text().splitlines(keepends=True)))
        return copy

    return make


def _slowed(line: str, factor: float) -> str:
    row = json.loads(line)
    if "ttft_s" in row:
        row = {**row, "ttft_s": row["ttft_s"] * factor, "e2e_s": row["e2e_s"] * factor}
    return json.dumps(row) + "\n"


def told(*folders: Path) -> dict:
    return json.loads(report.of(folders, "json"))


def test_the_report_is_the_golden_one(sessions):
    """VTUNE_GOLDEN=write writes it anew; read the difference before it is kept."""
    text = report.of(sessions)
    if os.environ.get("VTUNE_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_equal_sessions_differ_by_nothing(sessions, other):
    same = other()
    found = told(sessions[0], same)
    assert found["obstacles"] == [] and len(found["arms"]) == 2
    for arm in found["arms"]:
        assert arm["runs"] == ([[1, 4], [1, 4]] if arm["levers"]["prefix-caching"] == "off" else [[2, 3], [2, 3]])
        for name, figure in arm["metrics"].items():
            assert figure["ratios"] == [None, 1.0] and figure["words"] == ["", "within noise"], name
    assert "No difference is beyond what replays of one arm differ by." in report.of((sessions[0], same))


def test_another_vllm_that_is_slower_is_told_with_its_version(sessions, other):
    slow = other(('"vllm": "0.32.0"', '"vllm": "0.33.1"'), slower=1.5)
    found = told(sessions[0], slow)
    figure = found["arms"][0]["metrics"]["ttft_s.p50"]
    assert figure["ratios"][1] == pytest.approx(1.5) and figure["words"][1] == "beyond noise" and figure["n"][1] == 24
    assert found["obstacles"] == [] and found["differences"]["vLLM"] == ["0.32.0", "0.33.1"]
    text = report.of((sessions[0], slow))
    assert "A on vLLM 0.32.0, B on vLLM 0.33.1" in text and "| **vLLM** | 0.32.0 | 0.33.1 |" in text
    assert "The largest difference beyond noise is TTFT" in text and "no verdicts here" in text


@pytest.mark.parametrize(
    ("change", "words", "withheld"),
    [
        (("5e1f5e1f", "abcdef01"), "recording: 5e1f5e1f5e1f in A, abcdef01abcd in B: the requests are not the same", 1),
        (('"model": "smollm2-135m"', '"model": "qwen"'), "model: smollm2-135m in A, qwen in B", 1),
        (('"pace_text": "closed:1"', '"pace_text": "closed:4"'), "pace: closed:1 at 1x in A, closed:4 at 1x in B", 1),
        (('"kv_cache_tokens": 46592', '"kv_cache_tokens": 9000'), "KV pool: 46,592 in A, 9,000 in B", 0),
        (('"start_kind": "plain"', '"start_kind": "warm"'), "class of start: plain in A, warm in B", 0),
        (('"cache_reset": "done"', '"cache_reset": "kept"'), "prefix cache before a run: done in A, kept in B", 0),
    ],
)
def test_what_must_be_equal_and_is_not_is_named(sessions, other, change, words, withheld):
    found = told(sessions[0], other(change))
    (told_words,) = found["obstacles"]
    assert told_words.startswith(words)
    ratios = {figure["ratios"][1] for arm in found["arms"] for figure in arm["metrics"].values()}
    assert ratios == ({None} if withheld else {1.0})
    values = found["arms"][0]["metrics"]["ttft_s.p50"]["values"]
    assert None not in values, "what each measured is told in any case"


def test_arms_that_only_one_has_stand_alone(sessions):
    found = told(*sessions)
    assert [arm["levers"]["prefix-caching"] for arm in found["arms"]] == ["off", "on"]
    text = report.of(sessions)
    assert "| B | `kv-dtype=fp8, prefix-caching=off, speculative=ngram:4:2-4` |" in text
    assert MarkdownIt().enable("table").render(text).count("<table>") == 4


def test_three_sessions_and_rows_that_name_their_session(sessions, other):
    three = (*sessions, other())
    assert "| metric | A | B | C | B / A | C / A |" in report.of(three)
    rows = list(csv.DictReader(io.StringIO(report.of(three, "csv"))))
    assert len(rows) == 96 + 72 + 96 and {row["session"] for row in rows} == {"20260921-120000", "20260922-090000"}
    lines = [json.loads(line) for line in report.of(three, "jsonl").splitlines()]
    assert len(lines) == len(rows) and lines[0]["ttft_s"] == float(rows[0]["ttft_s"])
    assert lines[-1]["run"] == 4 and lines[-1]["error"] is None


def test_the_door_writes_it_with_its_figures(sessions, tmp_path, capsys):
    names = [str(folder) for folder in sessions]
    assert main(["report", *names, "-o", str(tmp_path / "r.md")]) == 0
    assert {path.name for path in tmp_path.glob("r*")} == {"r.md", "r-ttft.svg", "r-course.svg"}
    assert "A run 1" in (tmp_path / "r-ttft.svg").read_text()
    assert main(["report", *names, "-o", str(tmp_path / "r.md")]) == 2 and "exists" in capsys.readouterr().err
    assert main(["report", names[1], "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 72


def test_a_session_of_no_runs_can_stand_beside_others(sessions, tmp_path):
    empty = made_session.Folder(tmp_path / "empty").path
    found = told(sessions[0], empty)
    assert found["arms"] == [] and found["differences"]["runs"] == ["4", "0"]
    assert "no arm is in A and another" in report.of((empty, sessions[0]))
