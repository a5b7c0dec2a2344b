"""The failures of vLLM that are known by their text: each with what it means and its mend.

P = the vllm 0.32 package: the text was read there, or seen in a real log. Where several vLLM versions word it
differently, the pattern takes all. {names} are groups of the pattern; {port} and {model} come from the launch.
"""

import re
from dataclasses import dataclass

from tui.engine.launch import Launch


@dataclass(frozen=True, slots=True)
class Rule:
    cause: str  # names the kind; several rules may share one
    pattern: re.Pattern[str]
    what: str
    mend: str
    lever: str | None

    def say(self, words: str, found: re.Match[str], launch: Launch) -> str:
        """`what` or `mend` with the values that vLLM printed."""
        values = {name: value or "" for name, value in found.groupdict().items()}
        return words.format(**values, port=launch.port, model=launch.model)


def rule(cause: str, pattern: str, what: str, mend: str, lever: str | None = None) -> Rule:
    return Rule(cause, re.compile(pattern), what, mend, lever)


# A killed process is only the cause where no traceback tells a better one.
LAST_RESORT = ("core-killed", "worker-killed")

KNOWN: tuple[Rule, ...] = (
    # P/v1/worker/utils.py:761; "on device X" since 0.10.2
    rule(
        "gpu-busy",
        r"Free memory on device (?P<device>\S+ )?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is "
        r"less than desired GPU memory utilization \((?P<share>[\d.]+), (?P<wanted>[\d.]+) GiB\)",
        "the GPU has {free} of {total} GiB free, but gpu-memory-utilization {share} asks for {wanted} GiB",
        "end the other process on the GPU (or wait until it has), or lower gpu-memory-utilization",
    ),
    # utils.py:733
    rule(
        "weights-held-elsewhere",
        r"Externally held weights on device .* exceed the desired GPU memory utilization",
        "the preloaded weights alone exceed gpu-memory-utilization",
        "raise gpu-memory-utilization",
    ),
    # P/v1/core/kv_cache_utils.py:1010
    rule(
        "no-kv-memory",
        r"No available memory for the cache blocks",
        "no memory is left for the KV cache",
        "raise gpu-memory-utilization (on CPU VLLM_CPU_KVCACHE_SPACE), kv-cache-memory-bytes, or take a smaller model",
        "kv-pool",
    ),
    # P/v1/core/kv_cache_utils.py:1030; "models's" up to 0.19; the second text where no length fits
    rule(
        "context-exceeds-kv",
        r"To serve at least one request with the models?'s max seq len \((?P<length>\d+)\),? \(?(?P<needed>[\d.]+) "
        r"GiB KV cache is needed, which is larger than the available KV cache memory \((?P<there>[\d.]+) GiB\)"
        r".*?estimated maximum model length is (?P<fits>\d+)",
        "one request of max-model-len {length} needs {needed} GiB of KV cache, there is {there} GiB",
        "set max-model-len {fits}",
        "kv-pool",
    ),
    rule(
        "context-exceeds-kv",
        r"To serve at least one request with the models?'s max seq len \((?P<length>\d+)\),? \(?(?P<needed>[\d.]+) "
        r"GiB KV cache is needed, which is larger than the available KV cache memory \((?P<there>[\d.]+) GiB\)",
        "one request of max-model-len {length} needs {needed} GiB of KV cache, there is {there} GiB",
        "give the KV cache more memory, or lower max-model-len",
        "kv-pool",
    ),
    # torch
    rule(
        "gpu-memory",
        r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError: CUDA out of memory\. Tried to allocate "
        r"(?P<size>[\d.]+ \w+)",
        "the GPU ran out of memory while it tried to allocate {size}",
        "lower max-num-seqs, the token budget of chunked-prefill, or gpu-memory-utilization",
        "max-num-seqs",
    ),
    # P/v1/worker/gpu_worker.py:719
    rule(
        "memory-moved",
        r"Error in memory profiling\. Initial free memory",
        "another process freed or took GPU memory while vLLM measured it",
        "start again once the other engine is gone",
    ),
    # P/v1/worker/cpu_worker.py:218
    rule(
        "cpu-memory",
        r"Available memory on node \d+ \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on kv cache allocation is "
        r"less than requested memory for kv \((?P<wanted>[\d.]+) GiB\)",
        "the KV cache asks for {wanted} GiB, but {free} of {total} GiB of memory are free",
        "lower VLLM_CPU_KVCACHE_SPACE (or kv-cache-memory-bytes) below {free} GiB",
        "kv-pool",
    ),
    # P/envs.py, whose source line stands in the traceback
    rule(
        "bad-variable",
        r'(?:getenv|environ\.get)\("(?P<variable>\w+)".*\n(?:[ ^]+\n)?ValueError: invalid literal for \w+\(\).*: '
        r"(?P<value>'[^'\n]*')",
        "the environment variable {variable}={value} is not a number",
        "correct {variable} under engine.env, or leave it out",
    ),
    # P/entrypoints/launchers/launcher.py:348
    rule(
        "port-taken",
        r"\[Errno (?:98|48)\] (?:error while attempting to bind on address .*: )?[Aa]ddress already in use",
        "port {port} is taken by another process",
        "choose another port, or port: auto",
    ),
    # argparse, exit code 2
    rule(
        "unknown-flag",
        r"error: unrecognized arguments: (?P<flags>.+)",
        "this vLLM does not know {flags}",
        "take the flag out of the profile, or use a vLLM that has it",
    ),
    rule(
        "bad-choice",
        r"error: argument (?P<flag>\S+): invalid choice: (?P<value>'[^']*')(?: \(choose from "
        r"(?P<choices>.*)\))?",
        "this vLLM does not take {value} for {flag}",
        "choose one of {choices}",
    ),
    rule(
        "bad-argument",
        r"error: argument (?P<flag>\S+): (?P<why>.+)",
        "{flag}: {why}",
        "correct {flag}",
    ),
    # P/config/scheduler.py:314
    rule(
        "budget-below-context",
        r"max_num_batched_tokens \((?P<budget>\d+)\) is smaller than max_model_len \((?P<length>\d+)\)",
        "without chunked prefill the token budget {budget} is too small for max-model-len {length}",
        "turn chunked-prefill on, or set the budget to {length}",
        "chunked-prefill",
    ),
    # P/config/scheduler.py:330
    rule(
        "budget-below-seqs",
        r"max_num_batched_tokens \((?P<budget>\d+)\) must be greater than or equal to max_num_seqs "
        r"\((?P<seqs>\d+)\)",
        "the token budget {budget} is below max-num-seqs {seqs}",
        "set max-num-seqs to {budget} or lower, or raise the budget to {seqs}",
        "max-num-seqs",
    ),
    rule(
        "active-seqs",
        r"max_num_active_seqs \((?P<active>\d+)\) cannot be greater than max_num_seqs \((?P<seqs>\d+)\)",
        "max-num-active-seqs {active} is above max-num-seqs {seqs}",
        "set max-num-active-seqs to {seqs} or lower",
        "max-num-seqs",
    ),
    rule(
        "long-prefill-threshold",
        r"long_prefill_token_threshold \((?P<threshold>\d+)\) cannot be greater than the max_model_len "
        r"\((?P<length>\d+)\)",
        "long-prefill-threshold {threshold} is above max-model-len {length}",
        "set long-prefill-threshold to {length} or lower",
        "long-prefill-threshold",
    ),
    # P/config/model.py:2646
    rule(
        "context-too-long",
        r"User-specified max_model_len \((?P<length>\d+)\) is greater than the derived max_model_len "
        r"\((?:max_position_embeddings|\w+)=(?P<fits>\d+)",
        "max-model-len {length} is longer than the model's {fits} positions",
        "set max-model-len {fits}",
    ),
    # P/transformers_utils/config.py:849; huggingface_hub for a path that is not there
    rule(
        "model-missing",
        r"Invalid repository ID or local directory specified: '(?P<ref>[^']*)'"
        r"|Repo id must be in the form 'repo_name' or 'namespace/repo_name': '(?P<path>[^']*)'",
        "there is no model {ref}{path}",
        "check engine.model: a folder with config.json, or the id of a model on the hub",
    ),
    rule(
        "model-missing",
        r"RepositoryNotFoundError|Repository Not Found for url",
        "the hub has no such model, or hides it from you",
        "check engine.model; for a private one run `hf auth login`",
    ),
    rule(
        "model-not-cached",
        r"LocalEntryNotFoundError|Cannot find an appropriate cached snapshot folder|couldn't connect to "
        r"'https://huggingface\.co'",
        "the model is not on this machine, and the hub can't be reached",
        "download it first, or unset HF_HUB_OFFLINE",
    ),
    rule(
        "model-gated",
        r"GatedRepoError|Access to model (?P<ref>\S+) is restricted|401 Client Error",
        "the hub wants you to be allowed to read this model",
        "run `hf auth login`, and accept the model's terms on its page",
    ),
    # P/platforms/cuda.py:648
    rule(
        "bfloat16",
        r"Bfloat16 is only supported on GPUs with compute capability of at least 8\.0",
        "this GPU can't compute in bfloat16",
        "set dtype: half under engine.args",
    ),
    # 0.33 config/vllm.py:1491
    rule(
        "kv-dtype-mismatch",
        r'kv_cache_dtype="?(?P<kv>\w+)"? is incompatible with dtype="?(?P<dtype>[\w.]+)"?',
        "KV dtype {kv} does not fit a model in {dtype}",
        "set kv-dtype to auto",
        "kv-dtype",
    ),
    # cuda.py:470
    rule(
        "no-attention-backend",
        r"No valid attention backend found for (?P<device>\w+) with (?:AttentionSelectorConfig)?.*?Reasons: "
        r"(?P<why>\{.*\})",
        "no attention kernel here supports this combination: {why}",
        "undo kv-dtype or block-size",
        "kv-dtype",
    ),
    # cuda.py:441
    rule(
        "attention-backend",
        r"Selected backend (?P<name>\S+) is not valid for this configuration\. Reason: (?P<why>\[.*\])",
        "attention backend {name} does not support this combination: {why}",
        "undo kv-dtype or block-size, or leave the backend to vLLM",
        "kv-dtype",
    ),
    # P/v1/worker/utils.py:515
    rule(
        "block-size",
        r"No common block size for (?P<size>\d+) \((?P<backend>\w+): \[MultipleOf\((?P<unit>\d+)\)\]\)",
        "block-size {size} does not work here: {backend} needs a multiple of {unit}",
        "set block-size to a multiple of {unit}",
        "block-size",
    ),
    rule(
        "block-size",
        r"No common block size for (?P<size>\d+) \((?P<why>.*)\)",
        "block-size {size} does not work here: {why}",
        "undo block-size",
        "block-size",
    ),
    # P/config/model.py:1440
    rule(
        "quantization",
        r"Quantization method specified in the model config \((?P<has>\w+)\) does not match the quantization "
        r"method specified in the `quantization` argument \((?P<asked>\w+)\)",
        "the model is quantized with {has}, not with {asked}",
        "set quantization to {has}, or leave it out",
        "quantization",
    ),
    # P/config/vllm.py:899
    rule(
        "quantization",
        r"The quantization method (?P<name>\S+) is not supported for the current GPU\. Minimum capability: "
        r"(?P<wants>\d+)\. Current capability: (?P<has>\d+)",
        "quantization {name} needs a GPU of capability {wants}, this one has {has}",
        "choose another quantization",
        "quantization",
    ),
    rule(
        "quantization",
        r"(?P<dtype>\S+) is not supported for quantization method (?P<name>\w+)\. Supported dtypes: "
        r"(?P<choices>\[.*?\])",
        "quantization {name} does not work with {dtype}",
        "set dtype to one of {choices}",
        "quantization",
    ),
    # P/config/parallel.py:1053
    rule(
        "too-few-gpus",
        r"World size \((?P<wants>\d+)\) is larger than the number of available GPUs \((?P<has>\d+)\)",
        "{wants} GPUs are asked for, {has} are here",
        "lower tensor-parallel to {has}",
        "tensor-parallel",
    ),
    rule(
        "heads",
        r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size "
        r"\((?P<size>\d+)\)",
        "the model's {heads} attention heads can't be split over tensor-parallel {size}",
        "set tensor-parallel to a divisor of {heads}",
        "tensor-parallel",
    ),
    # P/config/speculative.py:1879
    rule(
        "draft-vocabulary",
        r"Target and draft model should have the same vocabulary size\. Target model "
        r"vocab_size=(?P<target>\d+)\. Draft model vocab_size=(?P<draft>\d+)",
        "the draft model's vocabulary ({draft}) is not the model's ({target})",
        "take a draft model with the same tokenizer",
        "speculative",
    ),
    # speculative.py:1597
    rule(
        "suffix-package",
        r"Arctic Inference is required for suffix decoding\. Install via `(?P<install>[^`]*)`",
        "suffix decoding needs a package that is not installed",
        "run `{install}` in the engine's environment, or choose speculative=ngram",
        "speculative",
    ),
    rule(
        "draft-tokens",
        r"num_speculative_tokens:(?P<asked>\d+) must be divisible by n_predict=(?P<unit>\d+)",
        "this draft proposes {unit} tokens at a time, {asked} is no multiple of it",
        "give speculative a multiple of {unit} tokens",
        "speculative",
    ),
    rule(
        "draft-tokens",
        r"A speculative model was provided, but `num_speculative_tokens` was not provided",
        "speculative names a draft but not how many tokens it proposes",
        "give speculative its number of tokens",
        "speculative",
    ),
    rule(
        "async-scheduling",
        r"[Aa]sync scheduling is only supported with (?P<methods>[\w/ ]+) kind of speculative decoding",
        "async scheduling does not go with this kind of speculation",
        "set async-scheduling=off, or speculative=off",
        "async-scheduling",
    ),
    rule(
        "speculative-slots",
        r"VllmConfig does not have enough slots to schedule a token and support the speculative decoding "
        r"settings",
        "the token budget is too small for this speculation",
        "raise the budget of chunked-prefill, or propose fewer tokens",
        "speculative",
    ),
    rule(
        "sleep-mode",
        r"Sleep mode is not supported on current platform",
        "this platform has no sleep mode",
        "take enable-sleep-mode out of the profile",
    ),
    # P/v1/engine/core_client.py:742
    rule(
        "too-slow",
        r"Timed out waiting for engine core processes to start",
        "the engine took longer to load than vLLM waits",
        "raise VLLM_ENGINE_READY_TIMEOUT_S under engine.env",
    ),
    rule(
        "vllm-missing",
        r"No module named '?(?P<module>vllm(?:\.\w+)*)'?",
        "this interpreter has no {module}",
        "install vLLM there, or point engine.python at the right one; `vtune doctor` looks",
    ),
    # P/v1/engine/core_client.py:817
    rule(
        "core-killed",
        r"engine core exited unexpectedly|Engine core proc (?P<name>\S+) died unexpectedly",
        "the engine's core process was killed from outside",
        "see `dmesg` for the out-of-memory killer; start it again",
    ),
    # P/v1/executor/multiproc_executor.py:315
    rule(
        "worker-killed",
        r"Worker proc (?P<name>\S+) died unexpectedly",
        "the engine's worker {name} was killed from outside",
        "see `dmesg` for the out-of-memory killer; start it again",
    ),
)
