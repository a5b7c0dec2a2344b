"""Show a kept session in the dashboard: read only, with play, pause, seek and speed.

One that another vtune is running can be opened as well; it is followed as it goes on.
"""

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", default="last", help="a session's name or folder, or last"
    )


def run(args: argparse.Namespace) -> int:
    from tui.screens.reopened.app import ReopenedApp
    from tui.session import folder
    from tui.session.reopen import Player

    app = ReopenedApp(Player(folder.find(args.session)))
    app.run()
    return app.return_code or 0
