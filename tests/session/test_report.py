"""The written form: recomputed from the folder, the same bytes each time, safe against what it quotes."""

import csv
import io
import json
import os
import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import made_session
import pytest
from made_session import Folder, outcome
from markdown_it import MarkdownIt

from tui.errors import VtuneError
from tui.session import report
from tui.session import state as states
from tui.session.report.material import load

GOLDEN = Path(__file__).parent / "golden" / "report.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_session.whole(tmp_path_factory.mktemp("session"))


@pytest.fixture(scope="module")
def text(folder):
    return report.render(folder)


def test_the_report_is_the_golden_one(text):
    """VTUNE_GOLDEN=write writes it anew; read the difference before it is kept."""
    if os.environ.get("VTUNE_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_every_number_is_computed_again_from_the_folder(folder):
    told = {n: run.result for n, run in states.load(folder).runs.items()}
    assert {run.number: run.result for run in load(folder).runs} == told
    assert len(told) == 3 and all(told.values())


def test_the_same_folder_elsewhere_gives_the_same_bytes(folder, text, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert report.render(copy) == text
    for form in ("json", "csv"):
        assert report.render(copy, form) == report.render(folder, form)


def test_a_stored_result_is_not_believed(folder, text, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    journal = copy / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"hit_rate": 0.5113', '"hit_rate": 0.9999'))
    assert '"hit_rate": 0.9999' in journal.read_text()
    assert report.render(copy) == text


def test_cold_and_warm_stand_apart_and_off_is_no_percentage(text):
    (row,) = [line for line in text.splitlines() if line.startswith("| 1 | **baseline**")]
    assert "| off | off |" in row
    (warm,) = [line for line in text.splitlines() if line.startswith("| TTFT, warm | 15 |")]
    assert "too few" in warm


def test_commands_repeat_each_run(text):
    block = re.search(r"## Repeat it\n\n```sh\n(.*?)```", text, re.DOTALL)[1]
    words = [shlex.split(line) for line in block.splitlines()]
    assert [w[:3] for w in words] == [["vtune", "replay", "/home/ada/recordings/rag.jsonl"]] * 3
    sets = [[v for k, v in zip(w, w[1:], strict=False) if k == "--set"] for w in words]
    assert sets == [
        ["engine.port=8123"],
        ["engine.port=8123", "prefix-caching=on"],
        ["engine.port=8123", "speculative=ngram:4:2-4", "kv-dtype=fp8"],
    ]
    assert all(("--pace", "closed:1") in list(zip(w, w[1:], strict=False)) for w in words)


def test_the_command_line_of_an_engine_can_be_pasted(text):
    block = re.search(r"### Engine 1 .*?```sh\n(.*?)```", text, re.DOTALL)[1]
    words = shlex.split(block.replace("\\\n", " "))
    assert words[:2] == ["VLLM_CPU_KVCACHE_SPACE=1", "HF_TOKEN=WITHHELD"]
    assert words[2:5] == ["/opt/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    assert words[-1] == "--no-enable-prefix-caching"


@pytest.mark.parametrize("form", ["md", "json", "csv"])
def test_secrets_stay_in_the_session_folder(folder, form):
    assert "hf_secret" in (folder / "journal.jsonl").read_text()
    assert "secret" not in report.render(folder, form)


def test_csv_has_a_row_per_request(folder):
    rows = list(csv.DictReader(io.StringIO(report.render(folder, "csv"))))
    assert len(rows) == 72
    assert rows[25]["id"] == "r01" and rows[25]["reuse"] == "warm" and rows[25]["cached_tokens"] == "896"
    assert rows[71]["status"] == "failed" and rows[71]["ttft_s"] == ""


def test_json_holds_results_and_ratios(folder):
    told = json.loads(report.render(folder, "json"))
    assert told["schema"] == "vtune.report/1" and told["baseline"] == 1
    assert [run["schema"] for run in told["runs"]] == ["vtune.run/1"] * 3
    assert told["ratios"]["2"]["ttft_s.cold.p50"] == 1.0


# -- sessions that did not go well ---------------------------------------------------------------


def test_a_session_without_an_engine_or_a_run(tmp_path):
    folder = Folder(tmp_path / "s")
    text = report.render(folder.path)
    assert "No run was made in this session: no engine was started." in text
    assert "## Runs" not in text and "was not closed" in text


def test_a_failed_start_tells_cause_and_mend(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.event("launch", n=1, argv=["vllm", "serve"], asked={"kv-dtype": "fp8"}, log="engine-1.log")
    folder.event("engine", n=1, state="failed", what="no memory for the KV cache", mend="lower max-model-len")
    text = report.render(folder.path)
    assert "**failed: no memory for the KV cache** (mend: lower max-model-len)" in text
    assert "| kv-dtype | `fp8` (applied: unknown) |" in text


@pytest.fixture
def running(tmp_path) -> Folder:
    folder = Folder(tmp_path / "s")
    folder.engine(1, made_session.LEVERS, made_session.LEVERS, [])
    folder.run(1, 1, "baseline")
    return folder


def test_a_run_that_still_goes_on(running):
    running.requests(1, [outcome(i, 2.0, 0) for i in range(5)], end=None)
    with (running.path / "run-1.jsonl").open("a") as file:
        file.write('{"id":"r05","gro')
    text = report.render(running.path)
    assert "5 of 24 requests have an end" in text
    assert "baseline (running)" in text


def test_a_run_without_its_file(running):
    text = report.render(running.path)
    assert "0 of 24 requests have an end" in text
    assert "| 1 | baseline (running) | 0 | – | – | – | unknown | off | off | 0.0 % | 0 |" in text


def test_a_file_that_is_no_runs_file_is_named(running):
    (running.path / "run-1.jsonl").write_text('{"schema":"vtune.requests/9"}\n')
    assert "its file can't be read: run-1.jsonl: not a run's file" in report.render(running.path)


def test_a_journal_cannot_make_us_read_elsewhere(running, tmp_path):
    (tmp_path / "outside.jsonl").write_text('{"schema":"vtune.requests/1"}\n{"id":"x","status":"ok","due_s":0}\n')
    journal = running.path / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"run-1.jsonl"', '"../outside.jsonl"'))
    assert "0 of 24 requests have an end" in report.render(running.path)


def test_only_failures(running):
    running.requests(1, [made_session.failed(i, "connection", "refused") for i in range(24)])
    running.run_end(1)
    text = report.render(running.path)
    assert "0 of 24 requests succeeded" in text
    assert "| `connection` | 24 | `refused` |" in text
    assert "24 of 24 requests failed" in text


def test_a_journal_cut_anywhere_still_gives_a_report(folder, tmp_path):
    whole = (folder / "journal.jsonl").read_bytes()
    copy = shutil.copytree(folder, tmp_path / "copy")
    first = whole.index(b"\n") + 1
    for cut in [first, *range(first + 1, len(whole), 911), len(whole) - 1]:
        (copy / "journal.jsonl").write_bytes(whole[:cut])
        text = report.render(copy)
        assert text.startswith("# vtune report: session 20260921-120000\n") and "was not closed" in text


def test_no_session_is_refused(tmp_path):
    with pytest.raises(VtuneError):
        report.render(tmp_path)


# -- text from outside -----------------------------------------------------------------------------

HOSTILE = (
    "a|b ``` **bold** [x](http://evil.example) <script>\n# head"
    "\x1b[31m\x9b0m\u202egnp.exe\u2028@all \\| ~~s~~ ![i](u)"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    folder = Folder(tmp_path_factory.mktemp("hostile"))
    folder.event("profile", name=HOSTILE, path="", text=f"name: x\n````\n{HOSTILE}\n", levers={}, targets=[])
    asked = {**made_session.LEVERS, "kv-dtype": HOSTILE, HOSTILE: "x"}
    folder.engine(1, asked, {**asked, "kv-dtype": "`auto|"}, [f"kv-dtype: asked {HOSTILE}, runs `auto|"])
    folder.event("launch", n=2, argv=["vllm", f"--x={HOSTILE}"], env={"A": HOSTILE}, asked=asked, model=HOSTILE)
    folder.event("engine", n=2, state="died", what=HOSTILE, mend=HOSTILE)
    folder.run(1, 1, HOSTILE)
    rows = [outcome(i, 2.0, 0, group=HOSTILE, id=f"=1+{HOSTILE}{i}") for i in range(3)]
    folder.requests(1, [*rows, made_session.failed(4, HOSTILE, HOSTILE), made_session.failed(5, "`", "|`\\|")])
    folder.run_end(1)
    return folder.path


def test_outside_text_is_no_markup(hostile):
    text = report.render(hostile)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    kinds = {t.type for t in tokens} | {c.type for t in tokens for c in t.children or ()}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "hr"}
    titles = [after.content for t, after in pairwise(tokens) if t.type == "heading_open"]
    assert [title.split()[0] for title in titles] == [
        "vtune", "Environment", "Engine", "Engine", "Levers", "Recording", "Runs", "Run", "Caveats", "Repeat",
        "Profile",
    ]  # fmt: skip


def test_outside_text_makes_no_cell_and_no_row(hostile):
    tokens = MarkdownIt("commonmark").enable("table").parse(report.render(hostile))
    width, rows = 0, []
    for token in tokens:
        if token.type == "thead_open":
            width = 0
        elif token.type == "th_open":
            width += 1
        elif token.type == "tr_open":
            cells = 0
        elif token.type == "td_open":
            cells += 1
        elif token.type == "tr_close" and cells:
            rows.append((cells, width))
    assert rows and all(cells == width for cells, width in rows)
    # A raw row has as many unescaped pipes as its head: a table that markdown-it pads would hide a lost cell.
    for block in re.findall(r"(?:^\|.*\n)+", report.render(hostile), re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in block.splitlines()}
        assert len(counts) == 1, block


def test_nothing_that_a_terminal_obeys_is_left(hostile):
    for form in ("md", "csv", "json"):
        text = report.render(hostile, form)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)


def test_spreadsheets_get_no_formula(hostile):
    rows = list(csv.DictReader(io.StringIO(report.render(hostile, "csv"))))
    assert rows[0]["id"].startswith("'=1+")
