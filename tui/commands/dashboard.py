"""The dashboard on a profile (default: demo), or on an engine that runs already."""

import argparse
from pathlib import Path

from tui.commands import options

DEFAULT_RECORDING = "rag-handbook"


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
    from tui.app import VtuneApp
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session import attach
    from tui.session.late import LateSession
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
    session = LateSession(profile, wanted, folder, attach=urls[0] if urls else None, patient=True)
    app = VtuneApp(session, hint=True)
    app.run()
    if session.folder is not None:
        print(f"session {session.folder}")
    return app.return_code or 0
