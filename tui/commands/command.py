"""Print the vLLM command line of an arm, with the environment that vtune adds.

With --session that of a kept session: of the arm that its comparison favours, else of a run.
"""

import argparse
import sys

from tui.commands import options
from tui.errors import VtuneError

EXAMPLE_PORT = 8000  # vtune itself takes a fresh port per launch


def arguments(parser: argparse.ArgumentParser) -> None:
    options.profile(parser)
    options.settings(parser)
    parser.add_argument("--session", metavar="SESSION", help="the winner of a kept session, or last")
    parser.add_argument("--run", type=int, metavar="N", help="of that session, the engine of this run")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.engine import combinations, command, flags, install
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings

    options.refuse_existing(args.json, args.force)
    if args.session:
        return _kept(args)
    if args.run is not None:
        raise VtuneError(f"--run {args.run}: of which session?", "add --session last, or another")
    profile = with_settings(profiles.load(args.profile), args.settings)
    found = install.find(profile.engine.python)
    found = found.with_flags(flags.known_flags(found))
    launch = command.build(profile, found, profile.engine.port or EXAMPLE_PORT)
    options.findings(combinations.look(command.surroundings(profile, found)))
    if args.json:
        options.write_json(args.json, {"argv": list(launch.argv), "env": dict(launch.env), "asked": dict(launch.asked)})
    else:
        print(command.shell(launch))
    return 0


def _kept(args: argparse.Namespace) -> int:
    from tui.engine import command
    from tui.session import folder, winner

    if args.settings:
        raise VtuneError("--set changes nothing of a kept session", "leave it, or --session, out")
    found = winner.of(folder.find(args.session), args.run)
    print(found.why, file=sys.stderr)
    if args.json:
        options.write_json(args.json, {"argv": list(found.argv), "env": found.env, "why": found.why})
    else:
        print(command.line(found.argv, found.env))
    return 0
