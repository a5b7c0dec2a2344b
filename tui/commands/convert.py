"""Write a recording in the format of another tool, and say what that format has no place for."""

import argparse
from pathlib import Path

from tui.commands import options

FORMATS = ("aiperf", "mooncake", "openai-batch", "vllm-custom")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RECORDING", help="a recording: its name or file")
    parser.add_argument("--to", required=True, choices=FORMATS, help="the format to write")
    parser.add_argument(
        "-o", dest="out", metavar="FILE", required=True, help="where to write; .gz and .zst are compressed"
    )
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.traffic import convert, recording

    options.refuse_existing(args.json, args.force)
    options.refuse_existing(args.out, args.force)
    done = convert.convert(recording.load(args.recording, filed=True), args.to, Path(args.out).expanduser(), args.force)
    if args.json:
        options.write_json(args.json, done.to_json())
    if args.json != "-":
        print(f"{done.format}: read {done.read} = kept {done.kept} + skipped {done.read - done.kept}")
        for reason, (count, examples) in done.skipped.items():
            print(f"  skipped {count}: {reason} (such as {', '.join(ascii(id) for id in examples)})")
        print(f"not in it: {', '.join(done.lost)}\nwritten to {args.out}")
    return 0
