"""Requests whose bodies stay in the file until they are sent."""

import subprocess
import sys

import pytest
from replaying import chat

from tui.traffic import recording
from tui.traffic.recording import load


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_they_are_what_the_file_says(tmp_path, suffix):
    path = tmp_path / f"a.jsonl{suffix}"
    requests = [
        chat("a", "é\u2028", reply={"status": 200}),
        chat("b", after="a", at=0.5, think_s=0.1, group="g", path="/v1/completions"),
    ]
    recording.write(path, {"name": "x"}, requests)
    whole, filed = load(path), load(path, filed=True)
    assert (filed.sha256, filed.name, len(filed.requests)) == (whole.sha256, whole.name, 2)
    for _ in range(2):  # in any order, again and again
        for one, other in zip(whole.requests, filed.requests, strict=True):
            assert one.to_json() == other.to_json()
    path.unlink()  # the open file is held
    assert filed.requests[1].body == whole.requests[1].body
    assert (filed.requests[0].model, filed.requests[0].streamed) == ("recorded-name", True)


def test_a_long_recording_takes_little_memory(tmp_path):
    path = tmp_path / "long.jsonl"
    recording.write(path, {"name": "x"}, (chat(f"r{i}", "word " * 2000, at=float(i)) for i in range(6000)))
    code = (
        "import resource, sys; from tui.traffic.recording import load; "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        f"kept = load({str(path)!r}, filed=True); assert len(kept.requests) == 6000; "
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)"
    )
    grown = float(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True).stdout)
    assert grown < 12 < path.stat().st_size / 2**20 / 4
