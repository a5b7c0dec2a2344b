"""List the levers: what each is set to, what this vLLM would choose, and whether it is to be had here."""

import argparse
from typing import Any

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.profile(parser)
    options.settings(parser)
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.engine import flags, install, profile
    from tui.engine.profile_set import with_settings

    options.refuse_existing(args.json, args.force)
    wanted = with_settings(profile.load(args.profile), args.settings)
    found = install.find(wanted.engine.python)
    listing = rows(wanted, found.with_flags(flags.known_flags(found)))
    if args.json:
        result = {"schema": "vtune.levers/1", "vllm": found.version, "device": found.device, "levers": listing}
        options.write_json(args.json, result)
        return 0
    print(f"vLLM {found.version or 'unknown'} on {found.device}, profile {wanted.name}")
    for row in listing:
        words = row["asked"] or f"{row['default_here']} (default here)"
        print(f"  {row['group']:<12}{row['name']:<24}{words:<20}{'' if row['available'] else row['reason']}")
    return 0


def rows(profile: Any, install: Any) -> list[dict[str, Any]]:
    """The `levers` of vtune.levers/1 for a profile on an install; `applied` is known only of a running engine."""
    from tui.engine import command, levers

    around = command.surroundings(profile, install)
    asked = levers.values_with_facets(around.values)
    listing = []
    for lever in levers.LEVERS:
        present = [flag for flag in lever.owns if install.flags is None or flag in install.flags]
        elsewhere = bool(lever.platforms) and install.platform not in lever.platforms
        reason = None
        if not present:
            reason = f"this vLLM ({install.version}) has no --{lever.owns[0]}"
        elif elsewhere:
            reason = f"only on {', '.join(lever.platforms)}; this is {install.platform}"
        listing.append(
            {
                "name": lever.name,
                "title": lever.title,
                "group": lever.group,
                "flags": [f"--{flag}" for flag in lever.owns],
                "choices": list(lever.choices) or None,
                "hint": lever.hint,
                "default_here": lever.default(around),
                "asked": asked.get(lever.name),
                "applied": None,
                "available": reason is None,
                "reason": reason,
            }
        )
    return listing
