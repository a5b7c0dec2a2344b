"""The dashboard on a profile (default: demo), or on an engine that runs already."""

import argparse
import gc
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tui import paths
from tui.commands import options

DEFAULT_RECORDING = "rag-handbook"
PROFILES = (".yaml", ".yml")


def arguments(parser: argparse.ArgumentParser) -> None:
    default = options.env("profile", "demo")
    parser.add_argument("profile", metavar="PROFILE", nargs="?", default=default, help="a profile: its name or file")
    parser.add_argument("--recording", metavar="R", default=options.env("recording"), help="the recording to replay")
    parser.add_argument(
        "--attach", metavar="URL", action="append", default=[],
        help="an engine that vtune does not own; again for engines behind it, whose metrics are read",
    )  # fmt: skip
    options.settings(parser)
    parser.add_argument("--pace", metavar="PACE", default=options.env("pace"), help="as of `vtune replay`")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N requests of the recording")
    parser.add_argument("--session", metavar="DIR", help="keep the session in this folder")


def run(args: argparse.Namespace) -> int:
    # What is loaded and built up to the first paint stays: looking through it for garbage takes a tenth of that time.
    # The app lets the collector go on after it.
    gc.disable()
    from tui.app import VtuneApp
    from tui.session.late import LateSession

    if not (args.attach or options.env("attach")):
        paths.find("profiles", args.profile, PROFILES)  # a name that is mistyped is told without a screen
    wanted = partial(_wanted, args)
    if not sys.stdin.isatty():  # nobody sees a screen: what is wrong is told before one is opened
        arguments = wanted()
        wanted = lambda: arguments  # noqa: E731
    session = LateSession.of(wanted)
    app = VtuneApp(session, hint=True)
    app.run()
    if app.refusal is not None:
        raise app.refusal
    if session.folder is not None:
        print(f"session {session.folder}")
    return app.return_code or 0


def _wanted(args: argparse.Namespace) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a Session is made of. It is read after the screen's first paint: a long recording takes a while."""
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session import attach
    from tui.session.traffic import traffic_of

    given = args.attach or (options.env("attach") or "").split()
    profile = attach.profile(given) if given else profiles.load(args.profile)
    if profile.engine.attach and not given:
        profile = attach.profile(profile.engine.attach, profile)
    profile = with_settings(profile, args.settings)
    urls = profile.engine.attach
    fallback = DEFAULT_RECORDING if urls else None
    recording = args.recording or profile.traffic.recording or fallback
    wanted = traffic_of(profile, recording, pace=args.pace, limit=args.limit)
    folder = Path(args.session) if args.session else None
    return (profile, wanted, folder), {"attach": urls[0] if urls else None, "patient": True}
