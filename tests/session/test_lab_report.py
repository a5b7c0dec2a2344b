"""The written form of a lab: its findings first, tables that are tables, and the command that does it again."""

import json
import re
import shlex
from types import SimpleNamespace

import made_session
import pytest
import test_lab_chunked
import test_lab_prefix
import test_lab_speculative
from made_lab import found
from markdown_it import MarkdownIt

from tui.cli import _parser
from tui.session import report
from tui.session.report import closing, lab

LAB = {"e": "lab", "study": "prefix", "scale": 0.4, "asked": False, "cut": True,
       "notes": "One prefix <b>|`x`.", "estimate_s": 430, "requests": 24,
       "control": {"label": "control", "sha256": "ab", "requests": 4}}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison of caching off and on whose journal says that it is a prefix lab; its control was never made."""
    path = made_session.comparing(tmp_path_factory.mktemp("lab"))
    rows = (path / "journal.jsonl").read_text().splitlines()
    place = next(i for i, row in enumerate(rows) if '"e": "comparison"' in row)
    rows.insert(place, json.dumps({**LAB, "t": json.loads(rows[place])["t"]}))
    (path / "journal.jsonl").write_text("\n".join(rows) + "\n")
    return path


def test_it_begins_with_what_was_found_and_says_what_is_missing(folder):
    text = report.render(folder)
    assert text == report.render(folder)
    assert text.index("## Lab: prefix") < text.index("## Comparison")
    summary = text.split("## Lab")[0]
    assert "warm TTFT is" in summary and "there is no control" in summary
    assert "Scale 0.4, cut to end within 10 min here: 24 requests a replay, 4 in the control." in text
    caveats = text.split("## Caveats")[1]
    assert "the control was not made" in caveats and "scale 0.4, for the whole of it would take" in caveats
    assert "<b>" not in MarkdownIt().enable("table").render(text).split("<h2>Profile")[0]


def test_one_command_repeats_it(folder):
    (line,) = re.search(r"## Repeat it\n\n```sh\n(.*?)\n```", report.render(folder), re.DOTALL)[1].splitlines()
    words = shlex.split(line)
    assert words[:3] == ["vtune", "lab", "prefix"]
    args = _parser(words[1:]).parse_args(words[1:])
    assert (args.scale, args.seed, args.rounds, args.arms) == (0.4, 7, 1, None)
    assert args.settings == ["engine.port=8123"]


def test_the_json_report_carries_it(folder):
    told = json.loads(report.render(folder, "json"))["comparison"]
    assert told["lab"]["study"] == "prefix" and told == report.compared(folder)


def studies() -> list[dict]:
    chunked = test_lab_chunked.lab(test_lab_chunked.LIKE_A_CPU)
    few = test_lab_chunked.lab(test_lab_chunked.LIKE_A_CPU, shorts=5)
    s = test_lab_speculative
    speculative = s.lab({s.OFF: s.PLAIN, s.NGRAM: s.GOOD, s.DRAFT: s.BAD})
    p = test_lab_prefix
    prefix = found("prefix", "prefix-caching", ["off", "on"], p.replays(), p.control())["lab"]
    return [prefix, chunked, few, speculative]


def test_every_row_of_its_tables_has_a_cell_for_each_head():
    for told in studies():
        text = lab.section(SimpleNamespace(comparison={"lab": told}))
        tokens = MarkdownIt().enable("table").parse(text)
        heads = sum(t.type == "table_open" for t in tokens)
        assert heads == (2 if told["study"] == "speculative" else 1)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) == 1 and len(rows) > 3


def test_what_is_unknown_is_a_word():
    few = lab.section(SimpleNamespace(comparison={"lab": studies()[2]}))
    assert "| unknown |" in few and "None" not in few


def test_a_comparison_that_is_no_lab_has_no_such_section(tmp_path):
    assert "## Lab" not in report.render(made_session.comparing(tmp_path / "s"))


@pytest.mark.parametrize(("estimate_s", "words"), [(600, "cut to end within 10 min here"), (601, "cut as far as its")])
def test_a_cut_is_not_said_to_fit_where_it_does_not(estimate_s, words):
    told = found("speculative", "speculative", [test_lab_speculative.OFF, test_lab_speculative.NGRAM],
                 test_lab_speculative.replays({"off": test_lab_speculative.PLAIN, "ngram": test_lab_speculative.GOOD}),
                 verdicts=test_lab_speculative.VERDICTS, scale=0.4, estimate_s=estimate_s)["lab"]  # fmt: skip
    assert words in lab._how(told)


def test_a_warning_told_by_arm_is_not_told_again_by_engine():
    engine = SimpleNamespace(number=1, warnings=["slow without OpenMP", "another"])
    material = SimpleNamespace(
        state=SimpleNamespace(engines={1: engine}), comparison={"caveats": ["warning on ngram: slow without OpenMP"]}
    )
    assert [words.split(": warning: ")[1] for words in closing._warned(material)] == ["another"]
