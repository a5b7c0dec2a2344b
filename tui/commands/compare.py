"""Replay a recording on several arms and say what the lever did: faster, slower, or no difference seen.

Every arm is replayed twice a round, in a mirrored order (A B C C B A), each time on an engine started
anew, with the same requests. The result is one JSON object of schema vtune.comparison/1.
"""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui.commands import comparing, options
from tui.errors import VtuneError

if TYPE_CHECKING:
    from tui.session.compare.plan import Plan
    from tui.session.session import Session
    from tui.session.traffic import Traffic


# What a replay may be asked and a comparison may not, and why.
_OF_REPLAY = {
    "--loop": ("a comparison sends the recording once a replay: later passes find what the first left in the cache",
               "ask for more replays with --rounds"),
    "--retry": ("a comparison sends nothing again: an arm that refuses requests would only look slower",
                "leave it out; what an arm refuses is counted as failed"),
}  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING", help="a recording: its name or file")
    options.profile(parser)
    parser.add_argument(
        "--vary", metavar="LEVER=A,B", action="append", default=[],
        help="the arms, baseline first: prefix-caching=off,on or engine.python=/a,/b; twice: every combination",
    )  # fmt: skip
    options.settings(parser)
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="mirrored rounds, two replays an arm each")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of random paces and of the statistics")
    options.pace(parser)
    parser.add_argument(
        "--start", choices=("plain", "warm"), default="plain", help="warm: fork every engine from one that has imported"
    )
    parser.add_argument(
        "--fix-lengths", action="store_true", help="answers of equal length; acceptance is not judged then"
    )
    parser.add_argument("--no-text", action="store_true", help="keep hashes of the answers, not their text")
    parser.add_argument("--no-check", action="store_true", help="don't ask whether the answers changed")
    for word in _OF_REPLAY:  # known, so that it can be told why not
        parser.add_argument(word, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--gate", action="store_true", help="exit 4 when an arm misses a target of the profile")
    parser.add_argument("--session", metavar="DIR", help="keep the session in this folder")
    parser.add_argument("--report", metavar="FILE.md", help="write the report")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    for target in (args.json, *options.report_files(args.report)):
        options.refuse_existing(target, args.force)
    return asyncio.run(_compare(args))


async def _compare(args: argparse.Namespace) -> int:
    from tui.session.compare.conduct import conduct

    plan, traffic, session = _planned(args)
    failure = await comparing.carried_out(session, _announced(plan, traffic), lambda say: conduct(session, plan, say))
    return comparing.ended(failure, _written(args, session), args.gate)


def _planned(args: argparse.Namespace) -> "tuple[Plan, Traffic, Session]":
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session.compare.plan import Plan
    from tui.session.session import Session
    from tui.session.traffic import traffic_of

    for word, (what, mend) in _OF_REPLAY.items():
        if getattr(args, word.removeprefix("--")) is not None:
            raise VtuneError(f"{word}: {what}", mend)
    if args.limit is not None and args.limit < 1:
        raise VtuneError(f"--limit {args.limit}: not a number of requests", "give 1 or more")
    profile = with_settings(profiles.load(args.profile), args.settings)
    plan = Plan.of(profile, args.vary, args.rounds, args.seed, not args.no_check, args.start)
    traffic = traffic_of(
        profile, recording_ref=args.recording, pace=args.pace, speed=args.speed, limit=args.limit, seed=args.seed,
        fix_lengths=args.fix_lengths, keep_text=not args.no_text,
    )  # fmt: skip
    _refuse(plan)
    session = Session(plan.arms[0].profile, traffic, Path(args.session) if args.session else None)
    return plan, traffic, session


def _refuse(plan: "Plan") -> None:
    """An arm that has no vLLM, or that its vLLM would refuse, is told before the first one starts."""
    from tui.engine import command, flags, install

    installs = {}
    for arm in plan.arms:
        python = arm.profile.engine.python
        if python not in installs:
            found = install.find(python)
            installs[python] = found.with_flags(flags.known_flags(found))
        try:
            command.build(arm.profile, installs[python], port=1)
        except VtuneError as error:
            raise VtuneError(f"arm {arm.name}: {error.what}", error.mend, error.code) from error


def _announced(plan: "Plan", traffic: "Traffic") -> list[str]:
    from tui.session.compare.conduct import minutes
    from tui.session.compare.plan import estimate

    guess = estimate(plan, traffic)
    start = "of unknown length" if guess.start_s is None else f"of about {minutes(guess.start_s)}"
    replay = "of unknown length before the first" if guess.replay_s is None else f"of about {minutes(guess.replay_s)}"
    total = "" if guess.total_s is None else f": about {minutes(guess.total_s)} in all"
    lines = [f"{guess.replays} starts {start}, {guess.replays} replays {replay}{total}"]
    if len(plan.vary) > 1:
        lines.append("warning: several levers are varied together: what only one of them gains can't be told")
    return lines


def _written(args: argparse.Namespace, session: "Session") -> comparing.Result | None:
    from tui.session.compare.summary import lines

    found = comparing.written(args, session)
    if found is not None:
        comparing.told(args, lines(found))
    return found
