"""How much of its prompts a recording could reuse, and why prompts that look alike do not.

Tokens are exact with --url (the engine's own) or --profile (the model's tokenizer; nothing is started); without
either, four characters count as a token. The file is a recording or anything that `vtune import` reads.
It is never changed: --rewrite writes a new recording with the advice applied, so that the gain can be measured.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from tui.commands import options
from tui.errors import VtuneError


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="a recording (its name or file), or traffic of another tool")
    options.profile(parser, None)
    add("--url", metavar="URL", default=options.env("url"), help="an engine that runs, instead of a profile's model")
    options.settings(parser)
    add("--block-size", metavar="N", type=int, help="tokens in a KV block; default is the engine's")
    add("--rewrite", metavar="RECORDING", help="write a new recording with the advice applied")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.session.inspection import build
    from tui.session.inspection.inspect import inspect

    options.refuse_existing(args.json, args.force)
    result = asyncio.run(inspect(_asked(args), lambda line: print(line, file=sys.stderr)))
    if args.json:
        options.write_json(args.json, result)
    if args.json != "-":
        print("\n".join(build.lines(result)))
    return 0


def _asked(args: argparse.Namespace):  # noqa: ANN202 - imported late
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session.inspection.inspect import Asked

    if args.block_size is not None and args.block_size < 1:
        raise VtuneError(f"--block-size {args.block_size}: not a number of tokens", "give 1 or more")
    if args.settings and (args.url or not args.profile):
        raise VtuneError("--set changes a profile, and none is used", "give --profile")
    profile = None
    if args.profile and not args.url:
        profile = with_settings(profiles.load(args.profile), args.settings)
    rewrite = Path(args.rewrite).expanduser() if args.rewrite else None
    return Asked(args.file, profile, args.url, args.block_size, rewrite, args.force)
