"""Options that several commands share, each mirrored by a ``VTUNE_*`` environment variable."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tui import paths
from tui.errors import VtuneError


def env(name: str, fallback: str | None = None) -> str | None:
    """The default of option ``--name`` from ``VTUNE_NAME``."""
    return os.environ.get("VTUNE_" + name.upper().replace("-", "_")) or fallback


def profile(parser: argparse.ArgumentParser, default: str | None = "demo") -> None:
    parser.add_argument("--profile", metavar="P", default=env("profile", default), help="a profile: its name or file")


def settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", dest="settings", metavar="LEVER=VALUE", action="append", default=[],
        help="a lever (prefix-caching=off), another key (engine.python=...) or a flag of vLLM (raw.FLAG=VALUE)",
    )  # fmt: skip


def pace(parser: argparse.ArgumentParser) -> None:
    paces = "recorded, closed:N, constant:R, poisson:R, ramp:A-B/SECONDS or burst:N/SECONDS"
    parser.add_argument("--pace", metavar="PACE", default=env("pace"), help=paces)
    parser.add_argument("--speed", type=float, metavar="X", help="recorded pace, X times as fast")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N requests")


def findings(found: Iterable[Any]) -> None:
    """What levers do to each other (`engine.combinations`), a line each on standard error."""
    for finding in found:
        print(f"{finding.kind}: {finding.sentence()}", file=sys.stderr)


def output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def refuse_existing(target: str | None, force: bool) -> None:
    """Raises VtuneError when `target` exists and may not be overwritten: before anything long starts."""
    if target and target != "-" and Path(target).exists() and not force:
        raise VtuneError(f"{target} exists", "name another file, or give --force")
    if target and target != "-" and not Path(target).resolve().parent.is_dir():
        raise VtuneError(f"there is no folder {Path(target).resolve().parent}", "make it first, or name another file")


def write(target: str, content: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if target == "-":
        sys.stdout.write(content if content.endswith("\n") else content + "\n")
        sys.stdout.flush()
        return
    try:
        paths.write_whole(Path(target), content)
    except OSError as error:
        raise VtuneError(
            f"can't write {target}: {error.strerror}", "name a file in a folder you may write to"
        ) from error


def report_files(target: str | None) -> list[str]:
    """What a report to `target` may write: the Markdown, and its figures beside it."""
    if not target or target == "-":
        return []
    place = Path(target)
    return [target, *(str(place.with_name(f"{place.stem}-{what}.svg")) for what in ("ttft", "course"))]


def write_report(target: str, folders: Sequence[Path], force: bool = True) -> None:
    """The Markdown report, and its figures beside it; to standard output without them."""
    from tui.session import report

    if target == "-":
        write(target, report.of(folders))
        return
    place = Path(target)
    files = {str(place.with_name(name)): text for name, text in report.documents(folders, place.name).items()}
    for name in files:
        refuse_existing(name, force)
    for name, text in files.items():
        write(name, text)


def write_json(target: str, value: Any) -> None:
    write(target, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
