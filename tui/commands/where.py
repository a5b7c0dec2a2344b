"""Print the directories that vtune uses."""

import argparse

from tui import paths
from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    places = {
        "sessions": paths.sessions(),
        "state": paths.state(),
        "cache": paths.cache(),
        "own keys": paths.config() / "keys.yaml",
        "own profiles": paths.config() / "profiles",
        "own recordings": paths.data() / "recordings",
        "shipped profiles": paths.bundled("profiles"),
        "shipped recordings": paths.bundled("recordings"),
    }
    if args.json:
        options.refuse_existing(args.json, args.force)
        options.write_json(args.json, {name.replace(" ", "_"): str(path) for name, path in places.items()})
    else:
        for name, path in places.items():
            print(f"{name:<20}{path}")
    return 0
