"""Make up the load that is common in the literature: equal prompts in number and length, shared prefix or none.

Its answers say nothing about speculative decoding, and it has no arrival times of its own.
"""

import argparse
from pathlib import Path

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--requests", metavar="N", type=_count, required=True, help="how many")
    add("--prompt-chars", metavar="N", type=_count, required=True, help="characters of each prompt")
    add("--max-tokens", metavar="N", type=_count, required=True, help="tokens of each answer, at most")
    add("--prefix", choices=("shared", "unique"), required=True, help="90 %% of each prompt is the same, or nothing is")
    add("--concurrency", metavar="N", type=_count, default=1, help="how many come at a time; default 1")
    add("--seed", metavar="N", type=int, default=0, help="of the words; default 0")
    add("-o", dest="out", metavar="RECORDING", required=True, help="where to write")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.traffic import synth

    options.refuse_existing(args.json, args.force)
    options.refuse_existing(args.out, args.force)
    load = synth.Load(
        args.requests, args.prompt_chars, args.max_tokens, args.prefix == "shared", args.concurrency, args.seed
    )
    synth.write(load, Path(args.out).expanduser(), args.force)
    told = {"recording": args.out, "requests": load.requests, "synthetic": True, "rules_out": ["speculative decoding"]}
    if args.json:
        options.write_json(args.json, told)
    if args.json != "-":
        print(f"{load.requests} requests, made up: no result on speculative decoding can come of them")
        print(f"written to {args.out}; replay it with --pace closed:{load.concurrency}")
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is under 1")
    return number
