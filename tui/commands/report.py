"""Write the report of a session: Markdown for people, JSON for programs, CSV with a row per request."""

import argparse

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", default="last", help="a session's name or folder, or last"
    )
    parser.add_argument("-o", dest="out", metavar="FILE", default="-", help="where to write; default standard output")
    parser.add_argument("--format", choices=("md", "json", "csv"), default="md")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def run(args: argparse.Namespace) -> int:
    from tui.session import folder, report

    options.refuse_existing(args.out, args.force)
    options.write(args.out, report.render(folder.find(args.session), args.format))
    return 0
