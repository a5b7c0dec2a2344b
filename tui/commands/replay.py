"""Replay a recording on an engine: start it (or take the one at --url), warm it up, send, and write the result.

The result is one JSON object of schema vtune.run/1; everything is kept in a session folder.
"""

import argparse
import asyncio
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.commands import options
from tui.errors import Exit, VtuneError

if TYPE_CHECKING:
    from tui.engine.settings import Profile
    from tui.session.session import Session

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING", help="a recording: its name or file")
    options.profile(parser)
    parser.add_argument(
        "--url", metavar="URL", default=options.env("url"), help="an engine that runs already, instead of a profile's"
    )
    options.settings(parser)
    traffic(parser)
    parser.add_argument("--label", metavar="TEXT", help="what this run is called in tables")
    parser.add_argument("--gate", action="store_true", help="exit 4 when a target of the profile is missed")
    parser.add_argument("--session", metavar="DIR", help="keep the session in this folder")
    options.output(parser)


def traffic(parser: argparse.ArgumentParser) -> None:
    options.pace(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of random paces and warm-up prompts")
    parser.add_argument("--cache", choices=("reset", "keep"), default="reset", help="prefix cache before the run")
    parser.add_argument("--live-turns", action="store_true", help="later turns carry this engine's own earlier answers")
    parser.add_argument(
        "--fix-lengths", action="store_true", help="every answer has exactly its recorded or asked length"
    )
    parser.add_argument("--loop", type=int, default=1, metavar="N", help="send the whole recording N times")
    parser.add_argument(
        "--retry", type=int, default=0, metavar="N",
        help="send again up to N times what a busy engine refuses (429, 503), when its Retry-After has passed",
    )  # fmt: skip
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first failed request")
    parser.add_argument("--no-text", action="store_true", help="keep hashes of the answers, not their text")


def run(args: argparse.Namespace) -> int:
    options.refuse_existing(args.json, args.force)
    return asyncio.run(_replay(args))


def traffic_changes(args: argparse.Namespace) -> dict[str, Any]:
    """The options as fields of the session's Traffic."""
    return {
        "pace": args.pace, "speed": args.speed, "limit": args.limit, "seed": args.seed, "cache": args.cache,
        "live_turns": args.live_turns, "fix_lengths": args.fix_lengths, "fail_fast": args.fail_fast,
        "keep_text": not args.no_text, "label": getattr(args, "label", None),
        "loop": args.loop, "retry": args.retry,
    }  # fmt: skip


async def _replay(args: argparse.Namespace) -> int:
    from tui.commands.progress import Progress
    from tui.session.next_step import of_session

    session = _session(args)
    progress = Progress()
    session.subscribe(progress)
    progress.say(f"session {session.folder}")
    work = asyncio.create_task(_run(session))
    with caught(work):
        try:
            result = await work
        except asyncio.CancelledError:
            result = None
        finally:
            progress.close()
            await session.close()
    if result is None:
        return Exit.INTERRUPTED
    if (advised := of_session(session.state)) is not None:
        progress.say(f"next: {advised[1].sentence()}")
    if args.json:
        options.write_json(args.json, result)
    if args.json != "-":
        from tui.session.summary import lines

        print("\n".join(lines(result)))
    return _exit_code(result, session, args.gate)


def _session(args: argparse.Namespace) -> "Session":
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session import attach
    from tui.session.session import Session
    from tui.session.traffic import traffic_of

    if args.limit is not None and args.limit < 1:
        raise VtuneError(f"--limit {args.limit}: not a number of requests", "give 1 or more")
    profile = attach.profile(args.url) if args.url else profiles.load(args.profile)
    if profile.engine.attach and not args.url:
        profile = attach.profile(profile.engine.attach, profile)
    if profile.engine.attach and args.settings:
        raise VtuneError(
            "--set can't change an engine that vtune does not own", "leave it out, or give --profile instead of --url"
        )
    profile = with_settings(profile, args.settings)
    wanted = traffic_of(profile, recording_ref=args.recording, **traffic_changes(args))
    return Session(profile, wanted, Path(args.session) if args.session else None, attach=_attached(profile))


def _attached(profile: "Profile") -> str | None:
    """The URL that requests go to, where the engine is not vtune's own."""
    return profile.engine.attach[0] if profile.engine.attach else None


async def _run(session: "Session") -> dict[str, Any]:
    await session.start()
    await session.ready()
    await session.replay()
    return await session.finished()


@contextlib.contextmanager
def caught(work: "asyncio.Task[Any]") -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP end the work; a second one must not cut the engine's orderly end short."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        _leave_lost_terminal()
        if work.cancel():
            print("vtune: interrupted, ending the engine", file=sys.stderr)

    # Under nohup, SIGHUP is ignored already: it stays so.
    caught = [number for number in _SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    for number in caught:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def _leave_lost_terminal() -> None:
    """Writing to a terminal that was closed is an error: what is still said goes nowhere."""
    for stream in (sys.stdout, sys.stderr):
        try:
            os.write(stream.fileno(), b"")
        except OSError as error:
            if error.errno == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _exit_code(result: dict[str, Any], session: "Session", gate: bool) -> int:
    requests = result["requests"]
    engine = session.state.engine
    if engine is not None and engine.state == "died":
        what, mend = engine.failure or ("the engine died during the replay", f"read the log in {session.folder}")
        raise VtuneError(what, mend, Exit.ENGINE)
    if (run := session.state.runs[max(session.state.runs)]).state == "died":
        what = f"the process that replays died: {(run.end or {}).get('error')}"
        raise VtuneError(what, f"what was answered is kept in {session.folder}", Exit.BUG)
    if requests["sent"] and not requests["ok"]:
        print(
            "vtune: every request failed on a living engine\n  mend: see requests.errors in the result", file=sys.stderr
        )
        return Exit.MISSED
    if gate and any(target["met"] is False for target in result["targets"]):
        print("vtune: a target was missed\n  mend: see targets in the result", file=sys.stderr)
        return Exit.MISSED
    return Exit.DONE
