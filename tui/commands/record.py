"""Record real traffic: a transparent proxy in front of an OpenAI-compatible server.

Point clients at the address it prints, end it with ctrl+c. Everything passes through; chat and completion calls are
recorded, without headers, query strings, `user`, `metadata` and `extra_headers`. Prompts are kept as they were sent.
"""

import argparse
import asyncio
import contextlib
import signal
import sys

from tui.cli import plain
from tui.commands import options
from tui.errors import Exit, VtuneError
from tui.traffic.recorder.spec import DEFAULT_LISTEN, RecordSpec

_GRACE_S = 5.0


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    upstream = options.env("upstream")
    add("--upstream", metavar="URL", default=upstream, required=upstream is None, help="the server: http(s)://HOST[:PORT]")
    listen = options.env("listen", "%s:%d" % DEFAULT_LISTEN)
    add("--listen", metavar="HOST:PORT", default=listen, help=f"where clients send requests; default {listen}")
    add("-o", dest="out", metavar="RECORDING", required=True, help="where to write: .jsonl, .jsonl.gz or .jsonl.zst")
    add("--append", action="store_true", help="go on with an existing recording, one second after its end")
    masking = "mask keys and mail addresses in prompts, at equal length (changes tokens)"
    add("--mask-secrets", action="store_true", help=masking)
    add("--timeout", type=_seconds, default=600.0, metavar="S", help="how long the upstream may be silent; default 600")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    options.refuse_existing(args.json, args.force)
    if args.append and args.force:
        raise VtuneError("--append and --force exclude each other", "--append goes on, --force replaces")
    host, port = address(args.listen)
    spec = RecordSpec(
        args.upstream, args.out, host, port, append=args.append, force=args.force,
        mask_secrets=args.mask_secrets, timeout_s=args.timeout,
    )  # fmt: skip
    return asyncio.run(_record(spec, args.json))


def address(text: str) -> tuple[str, int]:
    """HOST:PORT, :PORT or PORT; an IPv6 host stands in brackets. Raises VtuneError."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or DEFAULT_LISTEN[0]
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise VtuneError(f"--listen {text!r} names no port", "such as 127.0.0.1:8001 or [::1]:8001")
    return host, int(port)


async def _record(spec: RecordSpec, json_target: str | None) -> int:
    from tui.traffic.punctual import be_punctual
    from tui.traffic.recorder import Recorder

    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    recorder = await Recorder.start(spec, _say)
    be_punctual()  # what passes is on its way to a person; the process that writes it down has time
    _say(f"recording {recorder.url} -> {spec.upstream.split('?')[0]} into {spec.out_path}; ctrl+c ends it")
    await ended.wait()
    if recorder.in_flight:
        _say(f"{recorder.in_flight} requests are in flight: {_GRACE_S:g} s to end; again to cut them")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, recorder.hurry)
    recorded = await recorder.stop(_GRACE_S)
    for line in recorded.lines():
        _say(line)
    if json_target:
        options.write_json(json_target, recorded.to_json())
    return Exit.DONE


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that was closed
        print(f"vtune: {plain(line)}", file=sys.stderr, flush=True)


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return number
