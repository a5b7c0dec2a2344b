"""List the dashboard's actions with their keys. keys.yaml in the configuration folder gives them others."""

import argparse

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.screens import keymap

    mapped = keymap.load()
    rows = {
        binding.id: (mapped.get(binding.id, binding.key), binding.tooltip or binding.description)
        for group in keymap.groups()
        for binding in group
        if binding.id
    }
    if args.json:
        options.refuse_existing(args.json, args.force)
        told = {action: {"keys": keys.split(","), "does": does} for action, (keys, does) in rows.items()}
        options.write_json(args.json, told)
    else:
        for action, (keys, does) in rows.items():
            print(f"{action:<21}{' '.join(keymap.shown(keys)):<16}{does}")
    return 0
