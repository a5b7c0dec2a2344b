"""Write the report of a session, or of several that are compared.

Markdown for people, with its figures as SVG beside it when it goes to a file; JSON for programs; CSV or JSONL with
a row per request.
"""

import argparse

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sessions", metavar="SESSION", nargs="*", default=["last"],
        help="sessions' names or folders, or last; several are held against the first",
    )  # fmt: skip
    parser.add_argument("-o", dest="out", metavar="FILE", default="-", help="where to write; default standard output")
    parser.add_argument("--format", choices=("md", "json", "csv", "jsonl"), default="md")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def run(args: argparse.Namespace) -> int:
    from tui.session import folder, report

    options.refuse_existing(args.out, args.force)
    folders = [folder.find(name) for name in args.sessions]
    if args.format == "md" and args.out != "-":
        options.write_report(args.out, folders, args.force)
    else:
        options.write(args.out, report.of(folders, args.format))
    return 0
