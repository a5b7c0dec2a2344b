"""Doctor names what is missing and its mend."""

import json

import pytest
from made_install import CPU

from tui.engine import doctor, doctor_system, flags, install, orphans
from tui.engine.inside import kin
from tui.errors import Exit, VtuneError


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VTUNE_STATE", str(tmp_path / "state"))


def by_name(checks):
    return {check.name: check for check in checks}


def test_a_healthy_machine(monkeypatch):
    monkeypatch.setattr(install, "find", lambda python: CPU)
    monkeypatch.setattr(flags, "known_flags", lambda found, fresh: {"a": None})
    checks = by_name(doctor.examine())
    names = ["python", "command", "engine", "import", "device", "openmp", "model", "memory", "port", "state", "cache"]
    assert list(checks) == [*names, "leftovers"]
    assert {checks[name].state for name in ("python", "engine", "import", "openmp", "port", "state")} == {"ok"}
    assert checks["model"].state == "warn" and "half a minute" in checks["model"].mend  # not made in this cache
    told = json.loads(json.dumps(doctor.as_json(list(checks.values()))))
    assert told["schema"] == "vtune.doctor/1"
    assert set(told["checks"][0]) == {"name", "state", "what", "mend"}


def test_every_check_that_is_not_well_has_a_mend(monkeypatch):
    monkeypatch.setattr(install, "find", lambda python: CPU)

    def broken(found, fresh):
        raise VtuneError("vLLM can't be imported: operator torchvision::nms does not exist", "-", Exit.ENGINE)

    monkeypatch.setattr(flags, "known_flags", broken)
    checks = doctor.examine()
    assert by_name(checks)["import"].state == "bad"
    assert "uninstall torchvision" in by_name(checks)["import"].mend
    assert all(check.mend for check in checks if check.state in ("warn", "bad"))


def test_without_an_engine_the_rest_is_still_checked():
    checks = by_name(doctor.examine("/nonexistent/python"))
    assert checks["engine"].state == "bad" and checks["engine"].mend
    assert "import" not in checks and checks["port"].state == "ok"


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("VTUNE_STATE", str(file / "below"))
    checks = by_name(doctor.examine("/nonexistent/python"))
    assert checks["state"].state == "bad" and "VTUNE_STATE" in checks["state"].mend


def test_little_memory_is_a_warning_and_unknown_is_not_zero(monkeypatch):
    monkeypatch.setattr(doctor_system, "available_memory", lambda: 2**30)
    assert doctor_system._memory()[1] == "warn"
    monkeypatch.setattr(doctor_system, "available_memory", lambda: None)
    assert doctor_system._memory()[1] == "unknown"


def test_an_engine_without_an_owner_is_told_with_its_processes(monkeypatch, tmp_path):
    processes = (kin.Proc(41, 1, 41, 7, "S"), kin.Proc(42, 41, 41, 9, "S"))
    orphan = orphans.Orphan("a1", str(tmp_path / "engine-1.log"), processes, tmp_path / "state.json")
    monkeypatch.setattr(orphans, "find", lambda: [orphan])
    check = by_name(doctor.examine("/nonexistent/python"))["leftovers"]
    assert check.state == "bad" and "41 42" in check.what and check.mend == "vtune doctor --end"
