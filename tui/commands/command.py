"""Print the vLLM command line of an arm, with the environment that vtune adds."""

import argparse

from tui.commands import options

EXAMPLE_PORT = 8000  # vtune itself takes a fresh port per launch


def arguments(parser: argparse.ArgumentParser) -> None:
    options.profile(parser)
    options.settings(parser)
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.engine import combinations, command, flags, install
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings

    options.refuse_existing(args.json, args.force)
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
