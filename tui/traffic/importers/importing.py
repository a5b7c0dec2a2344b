"""From a file of any known format to a recording: read once, order, link, write."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tui.errors import VtuneError
from tui.traffic import recording
from tui.traffic.importers import links, table
from tui.traffic.importers.arrange import arrange
from tui.traffic.importers.choosing import choose
from tui.traffic.importers.kept import Kept
from tui.traffic.importers.options import Options
from tui.traffic.importers.plan import Plan
from tui.traffic.importers.reading import Reading
from tui.traffic.importers.report import Report
from tui.traffic.importers.source import Source
from tui.traffic.whole_file import WholeFile, refuse


def import_file(
    path: Path, out: Path, options: Options, force: bool = False, progress: Callable[[int], None] | None = None
) -> Report:
    """Import `path` into the recording `out`, whole or not at all.

    The bodies go through a spool beside `out`; memory holds only what orders and links them. Raises VtuneError when
    the file is of no known format, when nothing in it can be replayed, and with `options.strict` for the first problem.
    `progress` is told how many rows were read, now and then.
    """
    refuse(out, force, path)
    with opened(path, options, out.resolve().parent, progress) as (plan, report), WholeFile(out) as file:
        for line in plan.lines():
            file.write(line)
    return report


@contextlib.contextmanager
def opened(
    path: Path, options: Options, folder: Path | None = None, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[Plan, Report]]:
    """The same without a file: its requests in order from the plan, while the spool in `folder` is there."""
    source = Source(path, options.encoding, options.strict)
    head = source.head()
    format, why = table.detect(path, head) if options.format is None else (table.named(options.format), "--format")
    report = Report(path.name, format.name, why)
    for lacking in format.lacks:
        report.lack(lacking, *format.rules_out)
    report.notes += format.notes
    kept = Kept(folder)
    try:
        reading = Reading(format, options, report, kept, progress)
        reading.read(source)
        yield _plan(path, reading), report
    finally:
        kept.close()


def _plan(path: Path, reading: Reading) -> Plan:
    kept, report, chain = reading.kept, reading.report, reading.format.chain
    previous = links.previous_turns(kept) if chain else {}
    arranged = arrange(kept, reading.clock, previous, reading.options, report)
    if not reading.format.dated:
        report.time["started_at"] = None
    order, block = choose(reading, arranged)
    report.kept = len(order)
    if not order:
        raise _nothing(path, report)
    follows = links.link(kept, order, arranged.at, chain, report)
    return Plan(
        _header(path, reading, arranged.timed), kept, order, arranged, follows, block.size, reading.options.seed
    )


def _header(path: Path, reading: Reading, timed: bool) -> dict[str, Any]:
    report = reading.report
    return {
        "schema": recording.SCHEMA, "name": _name(path), "captured_at": report.time.get("started_at"),
        "source": f"{reading.format.what}, from {path.name}", "notes": "; ".join(report.all_notes()),
        "synthetic": reading.synthetic or reading.kept.made > 0,
        "arrivals": "recorded" if timed else "made up",
        "format": report.format, "spread_ties": reading.options.spread_ties,
        "lacks": report.lacks, "rules_out": report.rules_out,
    }  # fmt: skip


def _name(path: Path) -> str:
    return Path(path.name.removesuffix(".gz").removesuffix(".zst")).stem


def _nothing(path: Path, report: Report) -> VtuneError:
    reasons = sorted(report.skipped.items(), key=lambda item: -item[1][0])
    if not reasons:
        return VtuneError(
            f"{path}: no requests in this {report.format} file", "give a file of recorded traffic, or name its --format"
        )
    told = "; ".join(f"{count} x {reason}" for reason, (count, _) in reasons[:3])
    first = reasons[0][1][1][0]
    return VtuneError(
        f"{path}: nothing in this {report.format} file can be replayed: {told}", f"the first of them is {first}"
    )
