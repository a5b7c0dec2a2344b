"""The door: exit codes, two-line errors, JSON that scripts can rely on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from made import write_recording

from tui.cli import main


def errors(capsys) -> list[str]:
    return capsys.readouterr().err.strip().splitlines()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["replay"], "RECORDING"),
        (["replay", "nowhere"], "no recording"),
        (["replay", "rag-handbook", "--profile", "nowhere"], "no profile"),
        (["replay", "rag-handbook", "--set", "prefix-caching=maybe"], "prefix-caching"),
        (["replay", "rag-handbook", "--set", "turbo=on"], "turbo"),
        (["replay", "rag-handbook", "--pace", "sometimes"], "pace"),
        (["replay", "rag-handbook", "--speed", "0"], "speed"),
        (["replay", "rag-handbook", "--limit", "0"], "limit"),
        (["replay", "rag-handbook", "--url", "nonsense://x"], "URL"),
        (["report", "nowhere"], "no session"),
        (["levers", "--profile", "nowhere"], "no profile"),
        (["--recording", "nowhere"], "no recording"),
        (["nowhere"], "no profile"),
        (["--frobnicate"], "frobnicate"),
    ],
)
def test_bad_usage_is_two_lines_and_exit_2(words, what, capsys):
    assert main(words) == 2
    lines = errors(capsys)
    assert len(lines) == 2, lines
    assert what.lower() in lines[0].lower() and lines[1].startswith("  mend: ")


def test_nobody_at_the_url_is_exit_3(tmp_path, capsys):
    recording = write_recording(tmp_path / "r.jsonl", requests=1)
    assert main(["replay", str(recording), "--url", "http://127.0.0.1:9"]) == 3
    assert "no answer from http://127.0.0.1:9" in capsys.readouterr().err


def test_an_engine_that_does_not_start_is_exit_3_with_its_cause(standin_profile, tmp_path, capsys):
    words = ["replay", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile)]
    assert main([*words, "--set", "engine.env.STANDIN_REFUSE=block-size"]) == 3
    lines = errors(capsys)
    assert "16" in lines[-2] and "32" in lines[-1] and lines[-1].startswith("  mend: ")


def test_replay_writes_the_result_and_says_where_the_session_is(standin_profile, tmp_path, capsys):
    out = tmp_path / "result.json"
    words = ["replay", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile), "--json", str(out)]
    assert main(words) == 0
    result = json.loads(out.read_text())
    assert result["schema"] == "vtune.run/1" and result["requests"]["ok"] == 6
    assert set(result["groups"]) == {"even", "odd"}
    told = capsys.readouterr()
    assert "6 of 6 ok" in told.out and "session " in told.err
    # The file is there now: without --force nothing is started.
    assert main(words) == 2
    assert "exists" in capsys.readouterr().err
    # The report of the session that was just written.
    assert main(["report", "last"]) == 0
    assert "# vtune report" in capsys.readouterr().out
    assert main(["sessions", "--json", "-"]) == 0
    assert [row["runs"] for row in json.loads(capsys.readouterr().out)] == [1]


def test_json_to_standard_output_is_json_alone(standin_profile, tmp_path, capsys):
    words = ["replay", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile), "--json", "-", "--limit", "2"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["ok"] == 2


def test_a_missed_target_only_gates_when_asked(standin_profile, tmp_path, capsys):
    words = ["replay", str(tmp_path / "small.jsonl"), "--profile", str(standin_profile)]
    standin_profile.write_text(standin_profile.read_text().replace("ttft-p95: 30s", "ttft-p50: 0.01ms"))
    assert main(words) == 0
    assert main([*words, "--gate"]) == 4
    assert "target was missed" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "mend"), [("--loop", "--rounds"), ("--retry", "counted as failed")])
def test_a_comparison_tells_why_it_neither_loops_nor_retries(word, mend, tmp_path, capsys):
    small = write_recording(tmp_path / "small.jsonl", requests=2)
    words = ["compare", str(small), "--vary", "prefix-caching=off,on", "--session", str(tmp_path / "session")]
    assert main([*words, word, "2"]) == 2
    told = capsys.readouterr().err
    assert word in told and mend in told
    assert not (tmp_path / "session").exists()


def test_every_request_failing_on_a_living_engine_is_exit_4(standin_profile, tmp_path, capsys):
    failing = write_recording(tmp_path / "failing.jsonl", requests=3, standin={"status": 500})
    assert main(["replay", str(failing), "--profile", str(standin_profile)]) == 4
    told = capsys.readouterr()
    assert "http 500 x 3" in told.out and "every request failed" in told.err


def test_levers_and_command_speak_of_the_same_arm(capsys):
    assert main(["levers", "--json", "-", "--set", "speculative=ngram"]) == 0
    listing = json.loads(capsys.readouterr().out)
    asked = {row["name"]: row["asked"] for row in listing["levers"]}
    assert listing["schema"] == "vtune.levers/1" and asked["speculative"] == "ngram:4:2-4"
    assert main(["command", "--set", "speculative=ngram", "--set", "prefix-caching=off"]) == 0
    line = capsys.readouterr().out
    assert "--no-enable-prefix-caching" in line and '"method": "ngram"' in line


def test_where_names_directories_that_the_environment_moves(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VTUNE_STATE", str(tmp_path / "elsewhere"))
    assert main(["where", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == str(tmp_path / "elsewhere" / "sessions")


@pytest.mark.engine
def test_doctor_tells_each_check_with_its_mend(capsys):
    assert main(["doctor", "--json", "-"]) in (0, 3)
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "vtune.doctor/1"
    assert all(check["mend"] for check in told["checks"] if check["state"] in ("bad", "warn"))


def test_a_reader_that_goes_away_is_no_error():
    script = "import sys; from tui.cli import main; sys.exit(main(['levers']))"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -c {script!r} | head -n 1"],
        capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert "Traceback" not in done.stderr and "vLLM" in done.stdout
