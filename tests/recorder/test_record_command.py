"""``vtune record`` as a person runs it."""

import asyncio
import json
import re
import signal
import sys

import pytest
from standin.fixture import serving
from upstreams import chat, post, talk

from tui.cli import main
from tui.traffic.recording import load

START = re.compile(r"recording http://\S+?:(\d+) -> ")


async def started(*words):
    """(process, port, what it had said until it served)."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui", "record", *words, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    said = ""
    async with asyncio.timeout(30):
        while not (found := START.search(said)):
            line = (await process.stderr.readline()).decode()
            assert line, said
            said += line
    return process, int(found[1]), said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_with_a_summary(tmp_path, number):
    out, result = tmp_path / "made.jsonl", tmp_path / "result.json"
    async with serving() as standin:
        process, port, said = await started(
            "--upstream", standin.url, "--listen", "127.0.0.1:0", "-o", str(out), "--json", str(result)
        )
        assert "open to other machines" not in said
        await talk(port, post(chat("hi")))
        await talk(port, b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
        # One stream is still under way: it ends, and is kept.
        slow = asyncio.ensure_future(talk(port, post(chat("slow", standin={"slow_headers_s": 0.5}))))
        while len(standin.server.seen) < 2:
            await asyncio.sleep(0.01)
        process.send_signal(number)
        said = (await process.stderr.read()).decode()
        assert (await slow).endswith(b"0\r\n\r\n")
        assert await process.wait() == 0
    for words in ("3 requests passed, 2 kept", "1 not kept: not a POST", "1 requests are in flight"):
        assert words in said
    assert len(load(out).requests) == 2
    assert json.loads(result.read_text())["skipped"] == [{"reason": "not a POST", "count": 1}]


async def test_a_second_signal_cuts_what_is_in_flight(tmp_path):
    async with serving() as standin:
        process, port, _ = await started(
            "--upstream", standin.url, "--listen", "127.0.0.1:0", "-o", str(tmp_path / "made.jsonl")
        )
        endless = asyncio.ensure_future(talk(port, post(chat("hi", standin={"hang_after": 1}))))
        while not standin.server.seen:
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert b"in flight" in await process.stderr.readline()
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(4):
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 0
        await endless
    assert "1 requests passed, 1 kept" in said and "1 were cut short" in said


async def test_a_recorder_that_is_killed_leaves_a_whole_recording(tmp_path):
    out = tmp_path / "made.jsonl"
    async with serving() as standin:
        process, port, _ = await started("--upstream", standin.url, "--listen", "127.0.0.1:0", "-o", str(out))
        for number in range(5):
            await talk(port, post(chat(f"number {number}")))
        async with asyncio.timeout(10):
            while out.read_bytes().count(b"\n") < 6:
                await asyncio.sleep(0.01)
        process.kill()
        await process.stderr.read()  # until the process that writes has ended too
        await process.wait()
    kept = load(out).requests
    assert [request.body["messages"][0]["content"] for request in kept] == [f"number {n}" for n in range(5)]


async def test_listening_beyond_this_machine_warns(tmp_path):
    process, _, said = await started(
        "--upstream", "http://127.0.0.1:9", "--listen", "0.0.0.0:0", "-o", str(tmp_path / "made.jsonl")
    )
    assert "open to other machines" in said
    process.terminate()
    assert b"nothing was recorded" in await process.stderr.read() and await process.wait() == 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "--upstream"),
        (["--upstream", "nonsense"], "URL"),
        (["--upstream", "http://h", "--listen", "nowhere"], "--listen"),
        (["--upstream", "http://h", "--listen", "127.0.0.1:99999"], "--listen"),
        (["--upstream", "http://127.0.0.1:8001", "--listen", "127.0.0.1:8001"], "same address"),
        (["--upstream", "http://h", "--append", "--force"], "exclude"),
        (["--upstream", "http://h", "--timeout", "0"], "timeout"),
        (["--upstream", "http://h", "--listen", "192.0.2.1:0"], "can't listen"),
    ],
)
def test_bad_usage_is_refused(tmp_path, capsys, words, what):
    out = tmp_path / "made.jsonl"
    assert main(["record", *words, "-o", str(out)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 2 and what in lines[0] and lines[1].startswith("  mend: ")
    assert not out.exists()
