"""The dashboard on a profile (default: demo), or on an engine that runs already."""

import argparse
from pathlib import Path

from tui.commands import options

DEFAULT_RECORDING = "rag-handbook"


def arguments(parser: argparse.ArgumentParser) -> None:
    default = options.env("profile", "demo")
    parser.add_argument("profile", metavar="PROFILE", nargs="?", default=default, help="a profile: its name or file")
    parser.add_argument("--recording", metavar="R", default=options.env("recording"), help="the recording to replay")
    attach = options.env("attach")
    parser.add_argument("--attach", metavar="URL", default=attach, help="an engine that vtune does not own")
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

    profile = attach.profile(args.attach) if args.attach else profiles.load(args.profile)
    profile = with_settings(profile, args.settings)
    fallback = DEFAULT_RECORDING if args.attach else None
    wanted = traffic_of(profile, args.recording or fallback, pace=args.pace, limit=args.limit)
    folder = Path(args.session) if args.session else None
    session = LateSession(profile, wanted, folder, attach=args.attach, patient=True)
    app = VtuneApp(session)
    app.run()
    if session.folder is not None:
        print(f"session {session.folder}")
    return app.return_code or 0
