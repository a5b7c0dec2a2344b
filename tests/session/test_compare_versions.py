"""vLLM's version as an arm: which versions the engines told, beside the paths that were asked for."""

import made_session
import pytest

from tui.session import report
from tui.session.compare import versions


def comparing(path, *, vllm: str):
    """Two interpreters; the engines of the second tell `vllm`."""
    folder = made_session.comparing(path)
    journal = folder / "journal.jsonl"
    text = journal.read_text()
    for word, python in (("off", "/opt/a"), ("on", "/opt/b")):
        text = text.replace(f"prefix-caching={word}", f"engine.python={python}")
    text = text.replace("engine.python=/opt/a,on", "engine.python=/opt/a,/opt/b")
    lines = text.splitlines()
    lines = [line.replace("0.32.0", vllm) if '"n": 2' in line or '"n": 3' in line else line for line in lines]
    journal.write_text("\n".join(lines) + "\n")
    return folder


def test_report_and_verdicts_name_the_versions(tmp_path):
    folder = comparing(tmp_path / "s", vllm="0.33.1")
    found = report.compared(folder)
    assert [arm["vllm"] for arm in found["arms"]] == [["0.32.0"], ["0.33.1"]] and not found["caveats"]
    text = report.render(folder)
    assert "### engine.python=/opt/b (vLLM 0.33.1) against engine.python=/opt/a (vLLM 0.32.0)" in text
    assert "on vLLM 0.32.0 and 0.33.1 (CPU)" in text and "| vLLM 0.32.0 to 0.33.1; " in text
    assert "| `engine.python=/opt/b` (vLLM 0.33.1) |" in text
    for row in found["verdicts"]:
        assert row["why"].startswith("vLLM 0.32.0 to 0.33.1") == (row["word"] in ("faster", "slower"))


def test_two_interpreters_with_the_same_vllm_are_said_to_be_so(tmp_path):
    folder = comparing(tmp_path / "s", vllm="0.32.0")
    (words,) = report.compared(folder)["caveats"]
    assert words.startswith("the interpreters have the same vLLM, 0.32.0")
    assert "(vLLM 0.32.0)" not in report.render(folder)


@pytest.mark.parametrize(
    ("why", "suspicious", "claims", "told"),
    [
        ("prefill p50 from 2 s to 1 s", False, True, ("vLLM 1 to 2; prefill p50 from 2 s to 1 s", False)),
        ("suspicious: nothing that explains it moved", True, True,
         ("vLLM 1 to 2; nothing that was measured explains it", False)),
        ("anything from x0.9 to x1.1 fits", False, False, ("anything from x0.9 to x1.1 fits", False)),
    ],
)  # fmt: skip
def test_another_version_may_be_the_cause_that_nothing_measured_shows(why, suspicious, claims, told):
    assert versions.explained(why, suspicious, claims, "vLLM 1 to 2") == told
