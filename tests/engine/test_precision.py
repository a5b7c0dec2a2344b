"""The demo model is computed in 32 bits where a CPU is slow at 16, and nowhere else."""

from dataclasses import replace

import pytest
from made_install import CPU, H100

from tui.engine import command, device, profile
from tui.engine.profile_set import with_settings

NO_AVX512 = "processor\t: 0\nflags\t\t: fpu sse2 avx2 fma f16c\n"
AVX512 = "processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f avx512_bf16\n"


@pytest.fixture(params=[True, False], ids=["slow", "fast"])
def slow(request, monkeypatch):
    monkeypatch.setattr(device, "slow_at_16_bits", lambda: request.param)
    return request.param


def dtypes(install, *settings: str) -> list[str]:
    argv = command.build(with_settings(profile.load("demo"), settings), install, 8000).argv
    return [after for flag, after in zip(argv, argv[1:], strict=False) if flag == "--dtype"]


def test_only_a_slow_cpu_gets_another_dtype_than_vllm_takes(slow):
    assert dtypes(CPU) == (["float32"] if slow else [])
    assert dtypes(H100) == []


@pytest.mark.parametrize("setting", ["engine.args.dtype=bfloat16", "raw.dtype=bfloat16"])
def test_what_is_asked_for_wins(slow, setting):
    assert dtypes(CPU, setting) == ["bfloat16"]


def test_a_model_of_the_user_is_left_alone(slow, tmp_path):
    assert dtypes(CPU, f"engine.model={tmp_path}", "speculative=off") == []


@pytest.mark.parametrize(
    ("machine", "told", "slow"),
    [("x86_64", NO_AVX512, True), ("x86_64", AVX512, False), ("aarch64", NO_AVX512, False), ("x86_64", "", False)],
)
def test_what_the_processor_tells(monkeypatch, tmp_path, machine, told, slow):
    (tmp_path / "cpuinfo").write_text(told)
    monkeypatch.setattr(device.platform, "machine", lambda: machine)
    assert device.slow_at_16_bits(tmp_path / "cpuinfo") is slow
    assert device.slow_at_16_bits(tmp_path / "none") is False


def test_a_pool_of_32_bits_holds_half_the_tokens(monkeypatch):
    from tui.engine import kv_size

    wanted = with_settings(profile.load("demo"), ["kv-pool=1GiB"])
    held = []
    for slow in (False, True):
        monkeypatch.setattr(device, "slow_at_16_bits", lambda slow=slow: slow)
        around = command.surroundings(wanted, replace(CPU, flags=None))
        held.append(kv_size.tokens(wanted, around, 128))
    if None in held:
        pytest.skip("the bundled model was not made on this machine")
    assert held == [46592, 23296]
