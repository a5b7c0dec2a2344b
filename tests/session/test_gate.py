"""Targets of the profile: judged whatever the exit code, shown by every command, and a gate only where one is asked."""

import json
from pathlib import Path

import pytest
from made import write_recording

from tui.cli import main
from tui.commands import comparing

LIMITS = {
    "ttft-p95": ("1us", "60s"), "tpot-p95": ("1us", "60s"), "error-rate": ("1%", "50%"), "goodput": ("99%", "50%"),
}  # fmt: skip


@pytest.fixture
def recording(tmp_path) -> Path:
    """24 requests, one of which the engine fails."""
    path = write_recording(tmp_path / "gated.jsonl", requests=24)
    head, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[7]["body"]["standin"] = {"status": 500}
    path.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    return path


def words(which: int) -> list[str]:
    """Limits that are missed (0) or met (1). Goodput counts against both times, so it goes with them."""
    return [part for name, limits in LIMITS.items() for part in ("--set", f"targets.{name}={limits[which]}")]


@pytest.mark.parametrize(("which", "met"), [(0, False), (1, True)])
def test_replay_judges_all_four_and_the_gate_exits_4(standin_profile, recording, tmp_path, capsys, which, met):
    out = tmp_path / "result.json"
    asked = ["replay", str(recording), "--profile", str(standin_profile), *words(which), "--json", str(out), "--gate"]
    assert main(asked) == (0 if met else 4)
    told = json.loads(out.read_text())["targets"]
    assert {row["name"]: row["met"] for row in told} == dict.fromkeys(LIMITS, met)
    assert {row["name"]: row["value"] for row in told}["error-rate"] == pytest.approx(1 / 24)
    shown = capsys.readouterr()
    for name in LIMITS:
        assert f"target        {name} {'met' if met else 'MISSED'}: " in shown.out
    assert main(["report", "last"]) == 0
    written = capsys.readouterr().out
    assert all(f"| `{name}` |" in written for name in LIMITS) and ("**missed**" in written) is not met


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    ("met", "gate", "code"), [(False, True, 4), (False, False, 0), (None, True, 0), (True, True, 0)]
)
def test_one_missed_target_of_one_arm_is_enough(name, met, gate, code, capsys):
    """An unknown one is not missed, and is told."""
    both = (("A", True), ("B", met))
    arms = [{"name": arm, "runs": [], "targets": [{"name": name, "met": found}]} for arm, found in both]
    assert comparing.exit_code({"arms": arms}, gate) == code
    assert (f"{name} of B" in capsys.readouterr().err) is (met is None)
