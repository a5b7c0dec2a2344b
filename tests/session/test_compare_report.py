"""The written form of a comparison: from the session folder alone, the same bytes each time."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import made_session
import pytest
from markdown_it import MarkdownIt

from tui.session import report
from tui.session import state as states

GOLDEN = Path(__file__).parent / "golden" / "comparison.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_session.comparing(tmp_path_factory.mktemp("session"))


@pytest.fixture(scope="module")
def text(folder):
    return report.render(folder)


def test_the_comparison_is_the_golden_one(text):
    """VTUNE_GOLDEN=write writes it anew; read the difference before it is kept."""
    if os.environ.get("VTUNE_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_the_same_folder_elsewhere_gives_the_same(folder, text, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert report.render(copy) == text and report.compared(copy) == report.compared(folder)


def test_the_state_keeps_the_plan(folder):
    plan = states.load(folder).comparison
    assert plan["order"] == ["prefix-caching=off", "prefix-caching=on", "prefix-caching=on", "prefix-caching=off"]
    assert plan["seed"] == 7 and plan["start"] == "plain"


def test_the_json_report_carries_the_comparison(folder):
    assert json.loads(report.render(folder, "json"))["comparison"] == report.compared(folder)


def test_one_command_repeats_it(text):
    (line,) = re.search(r"## Repeat it\n\n```sh\n(.*?)\n```", text, re.DOTALL)[1].splitlines()
    words = shlex.split(line)
    assert words[:2] == ["vtune", "compare"] and words[words.index("--vary") + 1] == "prefix-caching=off,on"
    from tui.cli import _parser

    args = _parser(words[1:]).parse_args(words[1:])
    assert args.rounds == 1 and args.pace == "closed:1" and args.settings == ["engine.port=8123"]


def test_its_tables_are_tables(text):
    section = text.split("## Comparison")[1].split("\n## ")[0]
    tables = [t for t in MarkdownIt().enable("table").parse(section) if t.type == "table_open"]
    assert len(tables) == 3


def test_words_of_an_arm_can_not_break_the_report(tmp_path):
    folder = made_session.comparing(tmp_path / "s")
    journal = folder / "journal.jsonl"
    evil = "raw.x=<b>|`![x](http://x)"
    journal.write_text(journal.read_text().replace("prefix-caching=on", evil))
    html = MarkdownIt().enable("table").render(report.render(folder))
    assert "<b>|" not in html and "<img" not in html and 'href="http' not in html


def test_half_a_comparison_says_so(tmp_path):
    text = report.render(made_session.comparing(tmp_path / "s", replays=2))
    assert "2 of 4 replays are missing or were cut short" in text
    assert "too few" in text and "There is no A against A yet." in text


def test_before_its_first_replay_there_is_nothing_to_tell(tmp_path):
    text = report.render(made_session.comparing(tmp_path / "s", replays=0))
    assert "No run was made in this session" in text
