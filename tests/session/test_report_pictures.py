"""The figures beside a report: the same bytes each time, whole XML whatever a label says, told in words as well."""

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import made_session
import pytest
from made_session import Folder, outcome

from tui.commands import options
from tui.errors import VtuneError
from tui.session import report
from tui.session.report.sparkline import sparkline

GOLDEN = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_session.whole(tmp_path_factory.mktemp("session"))


@pytest.mark.parametrize("what", ["ttft", "course"])
def test_the_figures_are_the_golden_ones(folder, what):
    """VTUNE_GOLDEN=write writes them anew; look at the picture before it is kept."""
    drawn = report.documents([folder])[f"report-{what}.svg"]
    golden = GOLDEN / f"report-{what}.svg"
    if os.environ.get("VTUNE_GOLDEN") == "write":
        golden.write_text(drawn)
    assert drawn == golden.read_text()


def test_the_report_shows_what_lies_beside_it_in_words_as_well(folder):
    files = report.documents([folder], "my report (1).md")
    assert set(files) == {"my report (1).md", "my report (1)-ttft.svg", "my report (1)-course.svg"}
    text = files["my report (1).md"]
    shown = re.findall(r"^!\[([^\]]+)\]\((\S+)\)$", text, re.MULTILINE)
    assert [place for _, place in shown] == ["my%20report%20%281%29-ttft.svg", "my%20report%20%281%29-course.svg"]
    assert "run 2: cold n 8, p50 2.61 s, partial n 1, p50 1.50 s, warm n 15, p50 0.27 s" in shown[0][0]
    assert re.sub(r"!\[.*\n\n", "", text) == report.render(folder)


def test_each_request_is_in_the_figure_once(folder):
    root = ElementTree.fromstring(report.documents([folder])["report-ttft.svg"])
    # In a row the tallest pile is 58 px high, whatever the number of requests: areas are in proportion.
    bars = [one for one in root.iter(f"{SVG}rect") if one.get("class") in ("cold", "partial", "warm")][3:]
    rows: dict[int, dict[str, float]] = {}
    for bar in bars:
        row = rows.setdefault(int((float(bar.get("y")) - 58) // 92), {})
        row[bar.get("class")] = row.get(bar.get("class"), 0) + float(bar.get("height"))
    assert set(rows) == {0, 1, 2} and set(rows[0]) == {"cold"} and set(rows[1]) == {"cold", "partial", "warm"}
    assert rows[1]["warm"] / rows[1]["cold"] == pytest.approx(15 / 8, rel=0.02)


def test_text_from_outside_stays_text(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.engine(1, made_session.LEVERS, made_session.LEVERS, [])
    folder.run(1, 1, '</text><script>alert("x")</script> & \x1b[31m\u202e]]>')
    folder.requests(1, [outcome(i, 2.0, 0) for i in range(3)])
    folder.run_end(1)
    drawn = report.documents([folder.path])["report-ttft.svg"]
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter(f"{SVG}script")) and "\x1b" not in drawn and "\u202e" not in drawn
    assert any("<script>" in (one.text or "") for one in root.iter(f"{SVG}text"))


def test_without_anything_measured_there_is_no_figure(tmp_path):
    assert set(report.documents([Folder(tmp_path / "s").path])) == {"report.md"}


def test_both_sets_of_colours_have_every_role(folder):
    for drawn in list(report.documents([folder]).values())[1:]:
        style = re.search(r"<style>(.*)</style>", drawn)[1]
        light, dark = style.split("@media(prefers-color-scheme:dark)")
        used = {name for one in re.findall(r'class="([^"]+)"', drawn) for name in one.split()} - {"s", "l", "a"}
        for name in used:
            assert f".{name}{{" in light and f".{name}{{" in dark, name


def test_a_figure_of_somebody_else_is_not_written_over(folder, tmp_path):
    (tmp_path / "r-ttft.svg").write_text("mine")
    with pytest.raises(VtuneError, match="r-ttft.svg exists"):
        options.write_report(str(tmp_path / "r.md"), [folder], force=False)
    assert (tmp_path / "r-ttft.svg").read_text() == "mine" and not (tmp_path / "r.md").exists()
    assert str(tmp_path / "r-ttft.svg") in options.report_files(str(tmp_path / "r.md"))
    options.write_report(str(tmp_path / "r.md"), [folder], force=True)
    assert {str(path) for path in tmp_path.glob("r*")} == set(options.report_files(str(tmp_path / "r.md")))
    assert (tmp_path / "r-ttft.svg").read_text() == report.documents([folder])["report-ttft.svg"]


def test_a_line_of_text_is_empty_where_nothing_was_measured_and_low_where_it_was_zero():
    points = [(2.0, 0.0), (4.0, None), (6.0, 1.0), (8.0, 0.5)]
    assert sparkline(points, 0.0, 8.0, 1.0, 8) == "▁▁  ██▅▅"
    assert sparkline([(0.1, 1.0), (8.0, 0.0)], 0.0, 8.0, 1.0, 4) == "█▁▁▁", "a peak is not lost in its column"
    assert sparkline([], 0.0, 0.0, 1.0, 3) == "   "
