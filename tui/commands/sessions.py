"""List the sessions that are kept, oldest first."""

import argparse
import sys

from tui.commands import options
from tui.errors import VtuneError


def arguments(parser: argparse.ArgumentParser) -> None:
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.session import folder, state

    options.refuse_existing(args.json, args.force)
    rows = []
    for path in folder.existing():
        try:
            told = state.load(path)
        except VtuneError as error:
            print(f"{path.name}: {error.what}", file=sys.stderr)
            continue
        rows.append(
            {
                "session": path.name,
                "folder": str(path),
                "created_at": told.header.get("created_at"),
                "profile": told.profile.get("name"),
                "recording": told.recording.get("name"),
                "engines": len(told.engines),
                "runs": len(told.runs),
            }
        )
    if args.json:
        options.write_json(args.json, rows)
        return 0
    for row in rows:
        print(
            f"{row['session']}  {row['profile'] or '-'}  {row['recording'] or '-'}  {row['runs']} runs  {row['folder']}"
        )
    if not rows:
        print("no sessions yet", file=sys.stderr)
    return 0
