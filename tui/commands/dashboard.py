"""The dashboard on a profile (default: demo), or on an engine that runs already."""

import argparse
from pathlib import Path

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "profile",
        metavar="PROFILE",
        nargs="?",
        default=options.env("profile", "demo"),
        help="a profile: its name or file",
    )
    parser.add_argument("--recording", metavar="R", default=options.env("recording"), help="the recording to replay")
    parser.add_argument(
        "--attach", metavar="URL", default=options.env("attach"), help="an engine that vtune does not own"
    )
    options.settings(parser)
    parser.add_argument("--session", metavar="DIR", help="keep the session in this folder")


def run(args: argparse.Namespace) -> int:
    from tui.app import VtuneApp
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session import attach
    from tui.session.session import Session, traffic_of

    profile = attach.profile(args.attach) if args.attach else with_settings(profiles.load(args.profile), args.settings)
    wanted = traffic_of(profile, recording_ref=args.recording or (DEFAULT if args.attach else None))
    folder = Path(args.session) if args.session else None

    def open_session() -> Session:
        return Session(profile, wanted, folder, attach=args.attach, patient=True)

    app = VtuneApp(open_session)
    app.run()
    print(f"session {app.folder}")
    return app.return_code or 0


DEFAULT = "rag-handbook"
