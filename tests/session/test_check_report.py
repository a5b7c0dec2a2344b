"""The output check in the report and on the terminal, from the session folder alone."""

import json
from pathlib import Path
from types import SimpleNamespace

import made_session
import pytest
from markdown_it import MarkdownIt

from tui.session import report
from tui.session.compare.summary import lines
from tui.session.report import comparison

EVIL = "</td> | `x` <img src=x> [l](http://x) \x1b[31m ends"
GREEDY = [f"r{i:02}" for i in range(0, made_session.N, 2)]


def folder(path: Path, arm_says: str, *checks: dict) -> Path:
    """prefix-caching off against on; every second request is greedy, and what the arm answers to r00 is given."""
    found = made_session.comparing(path)
    journal = found / "journal.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    for event in events:
        if event.get("e") == "comparison":
            event |= {"check": True, "greedy": GREEDY}
    told = [{"e": "check", "t": events[-1]["t"], **check} for check in checks]
    journal.write_text("".join(json.dumps(event) + "\n" for event in [*events[:-1], *told, events[-1]]))
    for number in range(1, 5):
        file = found / f"run-{number}.jsonl"
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in rows:
            if row.get("status") == "ok":
                answer = f"the same answer to {row['id']}, in every replay of both arms"
                row["text"] = arm_says if row["id"] == "r00" and number in (2, 3) else answer
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return found


def section(text: str) -> str:
    return text.split("### Output check")[1].split("\n## ")[0]


def test_equal_answers_are_a_line_and_a_row(tmp_path):
    found = folder(tmp_path / "s", "the same answer to r00, in every replay of both arms")
    text = section(report.render(found))
    assert "| `prefix-caching=on` | equal | 12 of 12 |" in text and "```" not in text
    assert "A against A: 12 of 12 greedy answers" in text
    told = lines(report.compared(found))
    assert "  answers: equal: 12 of 12 greedy answers equal; 12 of 12 sampled answers equal" in told


def test_a_changed_answer_is_shown_and_marks_every_gain_of_its_arm(tmp_path):
    fork = {"asked": "fork", "id": "r00", "runs": [1, 2], "fork": {"token": 6, "gap": 3.5, "more": False}}
    found = folder(tmp_path / "s", "the same answer to r00, in no replay at all", fork)
    whole, text = report.compared(found), report.render(found)
    gains = [row for row in whole["verdicts"] if row["word"] == "faster"]
    assert gains and all("its answers changed" in row["flags"] for row in gains)
    assert "**changed**" in section(text) and "changed at token 6, 3.50 nats apart" in section(text)
    assert "baseline  the same answer to r00, in every replay" in section(text)
    assert "but its answers changed" in text.split("## Comparison")[0]


@pytest.mark.parametrize("word", ["no difference seen", "too few", "faster"])
def test_the_summary_tells_of_changed_answers_whatever_the_times_say(word):
    row = {"arm": "b" if word == "faster" else "c", "word": word, "ratio": 0.5, "ci": [0.4, 0.6], "split": "all",
           "metric": "ttft_s.p50"}  # fmt: skip
    arms = [{"name": name, "runs": []} for name in "abc"]
    found = {"arms": arms, "baseline": "a", "verdicts": [row],
             "output_check": {"arms": [{"arm": "b", "word": "equal"}, {"arm": "c", "word": "changed"}]}}  # fmt: skip
    assert comparison.sentence(SimpleNamespace(comparison=found)).endswith("; the answers of `c` changed.")


def test_answers_are_data_in_the_report(tmp_path):
    fork = {"asked": "fork", "id": "r00", "runs": [1, 2], "fork": {"token": 0, "gap": 3.5, "more": False}}
    fault = {"asked": "fault", "what": f"HTTP 400 {EVIL}"}
    text = section(report.render(folder(tmp_path / "s", EVIL, fork, fault)))
    html = MarkdownIt().enable("table").render(text)
    assert "<img" not in html and 'href="' not in html and "\x1b" not in text
    assert html.count("<table>") == 1


def test_the_same_folder_gives_the_same_bytes(tmp_path):
    scores = [{"asked": "score", "n": n, "id": "r00", "tokens": 9, "logprob": -n / 2} for n in (1, 2)]
    found = folder(tmp_path / "s", "another answer", *scores)
    assert report.render(found) == report.render(found)
    (arm,) = json.loads(report.render(found, "json"))["comparison"]["output_check"]["arms"]
    assert arm["likelihood"]["requests"] == 1 and arm["likelihood"]["shift"] == -0.5


def test_a_comparison_of_an_older_vtune_has_no_check(tmp_path):
    found = made_session.comparing(tmp_path / "s")
    assert report.compared(found)["output_check"] is None and "Output check" not in report.render(found)
