"""Check what vtune needs and name the mend; exit 3 when something is broken.

--end ends engines that this user's vtune started and whose owner is gone.
"""

import argparse
import sys

from tui.commands import options
from tui.errors import Exit

MARKS = {"ok": "✓", "warn": "!", "bad": "✕", "unknown": "?"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", metavar="PATH", default="auto", help="the interpreter that has vLLM")
    parser.add_argument("--end", action="store_true", help="end engines of vtune's that nobody owns any more")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.engine import doctor, orphans

    options.refuse_existing(args.json, args.force)
    if args.end:
        for orphan in orphans.find():
            left = orphans.end(orphan)
            told = f", still running: {' '.join(map(str, left))}" if left else ""
            print(f"ended the engine of {orphan.log}{told}", file=sys.stderr)
    checks = doctor.examine(args.python)
    if args.json:
        options.write_json(args.json, doctor.as_json(checks))
    else:
        for check in checks:
            print(f"{MARKS[check.state]} {check.name:<12} {check.what}")
            if check.mend and check.state != "ok":
                print(f"  mend: {check.mend}")
    return Exit.ENGINE if any(check.state == "bad" for check in checks) else Exit.DONE
