"""List the levers: what each is set to, what this vLLM would choose, what runs, and whether it is to be had here."""

import argparse
import asyncio
from typing import Any

from tui.commands import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.profile(parser)
    options.settings(parser)
    parser.add_argument("--url", metavar="URL", help="an engine that runs: what is applied is read back from it")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    from tui.engine import combinations, command, flags, install, profile
    from tui.engine.profile_set import with_settings

    options.refuse_existing(args.json, args.force)
    facts = {rule.name: rule.fact for rule in combinations.RULES}
    wanted = with_settings(profile.load(args.profile), args.settings)
    found = install.find(wanted.engine.python)
    found = found.with_flags(flags.known_flags(found))
    around = command.surroundings(wanted, found)
    attached = wanted.engine.attach  # whose levers nobody asked for
    url = args.url or (attached[0] if attached else None)
    asked = {} if attached else command.asked(wanted, around)
    listing = rows(around, asked, _applied(url) if url else {})
    hazards = () if attached else combinations.look(around)
    options.findings(hazards)
    for row in listing:
        row["hazards"] = [
            {"kind": one.kind, "what": one.what, "mend": one.mend or None, "rule": one.rule, "fact": facts[one.rule]}
            for one in hazards
            if one.levers[0] == row["name"]
        ]
    if args.json:
        result = {"schema": "vtune.levers/1", "vllm": found.version, "device": found.device, "levers": listing}
        options.write_json(args.json, result)
        return 0
    print(f"vLLM {found.version or 'unknown'} on {found.device}, profile {wanted.name}")
    for row in listing:
        print(_line(row))
    return 0


def _applied(url: str) -> dict[str, str | None]:
    """What the engine at `url` says that it runs, facets included."""
    from tui.engine import levers
    from tui.session import attach

    told = asyncio.run(attach.levers_at(url))
    chunking = told.get("chunked-prefill")
    return {**told, **({} if chunking is None else levers.values_with_facets({"chunked-prefill": chunking}))}


def _line(row: dict[str, Any]) -> str:
    words = row["asked"] or f"{row['default_here']} (default here)"
    if row["applied"] is not None and row["applied"] != row["asked"]:
        words += f", runs {row['applied']}"
    where = f"  {row['group']:<12}{row['name']:<24}"
    return f"{where}{words}" if row["available"] else f"{where}{words:<24}– {row['reason']}"


_THRESHOLD = "long-prefill-threshold"


def rows(around: Any, asked: dict[str, str], applied: dict[str, str | None]) -> list[dict[str, Any]]:
    """The `levers` of vtune.levers/1; `applied` is known only of a running engine."""
    from tui.engine import availability, levers

    if not asked.get("chunked-prefill", "raw.").startswith("raw."):
        asked = levers.values_with_facets(asked)
    listing = []
    for lever in levers.LEVERS:
        listing.append(_row(lever, availability.offer(lever, around), list(lever.owns), asked, applied))
        if _THRESHOLD in levers.FACETS and levers.FACETS[_THRESHOLD] == lever.name:
            part = _row(lever, availability.threshold_offer(around), ["long-prefill-token-threshold"], asked, applied)
            part |= {"title": "long-prefill threshold", "hint": "off | 256", "value": {"type": "number", "least": 1,
                     "most": around.max_model_len, "unit": "tokens"}}  # fmt: skip
            listing.append(part)
    return listing


def _row(lever: Any, offer: Any, owned: list[str], asked: Any, applied: dict[str, str | None]) -> dict[str, Any]:
    return {
        "name": offer.name,
        "title": lever.title,
        "group": lever.group,
        "flags": [f"--{flag}" for flag in owned],
        "value": {"type": lever.kind, "least": lever.least, "most": lever.most, "unit": lever.unit or None},
        "choices": list(offer.choices) or None,
        "hint": lever.hint,
        "improves": lever.gain,
        "costs": lever.cost,
        "default_here": offer.default,
        "asked": asked.get(offer.name),
        "applied": applied.get(offer.name),
        "available": offer.available,
        "reason": offer.reason,
        "help": offer.help,
        "since": ".".join(map(str, lever.since)) if lever.since else None,
    }
