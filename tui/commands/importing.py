"""Turn traffic that another tool recorded into a recording: logs, traces, exports, data sets.

The format is found by what is in the file. Every row is accounted for: read = kept + skipped.
"""

import argparse
import sys
from pathlib import Path

from tui.commands import options
from tui.errors import VtuneError

UNITS = ("auto", "s", "ms", "us", "ns", "iso")


def arguments(parser: argparse.ArgumentParser) -> None:
    from tui.traffic.importers.table import FORMATS

    add = parser.add_argument
    add("file", metavar="FILE", help="plain, .gz or .zst")
    add("-o", dest="out", metavar="RECORDING", required=True, help="where to write: .jsonl, .jsonl.gz or .jsonl.zst")
    add("--format", metavar="F", help="instead of the one found: " + ", ".join(f.name for f in FORMATS))
    add("--strict", action="store_true", help="stop at the first row that is not sound")
    add("--time-unit", metavar="U", choices=UNITS, default="auto", help="of its times: " + ", ".join(UNITS))
    add("--encoding", metavar="E", help="of its text; default UTF-8, or what its byte-order mark says")
    add("--limit", metavar="N", type=_count, help="the sessions that begin first, at most N requests")
    add("--sample", metavar="N", type=_count, help="sessions drawn at random, at most N requests")
    add("--dedupe", action="store_true", help="leave exact copies out")
    add("--drop-failed", action="store_true", help="leave out what failed when it was recorded")
    add("--spread-ties", choices=("even", "random"), help="spread requests of one time up to the next time")
    add("--max-gap", metavar="S", type=_seconds, help="shorten longer gaps between requests to S seconds")
    add(
        "--mask-secrets",
        action="store_true",
        help="mask keys and mail addresses in prompts, at equal length (changes tokens)",
    )
    add("--block-size", metavar="N", type=_count, help="tokens that a hash id stands for; default is the format's")
    add("--seed", metavar="N", type=int, default=0, help="of everything that is drawn; default 0")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.traffic.importers import Options, import_file

    options.refuse_existing(args.json, args.force)
    asked = Options(
        format=args.format, strict=args.strict, time_unit=None if args.time_unit == "auto" else args.time_unit,
        encoding=_known_encoding(args.encoding), limit=args.limit, sample=args.sample, dedupe=args.dedupe,
        drop_failed=args.drop_failed, spread_ties=args.spread_ties, max_gap_s=args.max_gap,
        mask_secrets=args.mask_secrets, block_size=args.block_size, seed=args.seed,
    )  # fmt: skip
    shown = _show if sys.stderr.isatty() else None
    try:
        report = import_file(Path(args.file).expanduser(), Path(args.out).expanduser(), asked, args.force, shown)
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if args.json:
        options.write_json(args.json, report.to_json())
    if args.json != "-":
        print("\n".join([*report.lines(), f"written to {args.out}"]))
    return 0


def _show(rows: int) -> None:
    print(f"\r{rows:,} rows read", end="", file=sys.stderr, flush=True)


def _known_encoding(name: str | None) -> str | None:
    import codecs

    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        raise VtuneError(f"no encoding {name!r}", "such as utf-8, utf-16, latin-1, cp1252") from None


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is under 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return number
