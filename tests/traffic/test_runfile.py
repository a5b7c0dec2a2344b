import pytest

from tui.errors import VtuneError
from tui.traffic.outcome import Outcome
from tui.traffic.replay import read_outcomes
from tui.traffic.replay.runfile import RunFile, read_end

OUTCOMES = [
    Outcome("a", "g", "ok", 0.0, 0.1, ttft_s=0.2, itl_s=(0.1, 0.2), text="é\u2028"),
    Outcome("b", None, "failed", 1.0),
]


def written(path):
    file = RunFile(path)
    file.header({"total": 2})
    for outcome in OUTCOMES:
        file.outcome(outcome)
    file.end({"kind": "done"})
    file.close()
    return path.read_bytes()


def test_it_reads_back_what_was_written(tmp_path):
    path = tmp_path / "run-1.jsonl"
    written(path)
    header, outcomes, end = read_outcomes(path)
    assert (header["total"], outcomes, end) == (2, OUTCOMES, {"kind": "done"})


def test_a_file_cut_at_any_byte_after_its_header_still_reads(tmp_path):
    path = tmp_path / "run-1.jsonl"
    data = written(path)
    lines = data.split(b"\n")
    first = len(lines[0])
    for cut in range(first, len(data)):
        path.write_bytes(data[:cut])
        _, outcomes, end = read_outcomes(path)
        whole = sum(1 for i in (1, 2) if cut >= len(b"\n".join(lines[: i + 1])))
        assert outcomes == OUTCOMES[:whole]
        assert (end is None) == (cut < len(data) - 1)
        assert read_end(path) is None  # without its line's end nobody knows that it is whole
    path.write_bytes(data)
    assert read_end(path) == {"kind": "done"}


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"schema": "vtune.requests/2"}\n', b"\x00\xff"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(VtuneError, match="not a run's file"):
        read_outcomes(path)
