"""One inspection from file to result."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui import paths
from tui.engine.settings import Profile
from tui.errors import VtuneError
from tui.session.inspection import build, source
from tui.session.inspection.source import Facts
from tui.traffic import recording
from tui.traffic.importers import Options, opened
from tui.traffic.inspect import capacity, doctor, grouping, hashed, rewrite
from tui.traffic.inspect.parts import has_media
from tui.traffic.inspect.rows import Row
from tui.traffic.recording import Request

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What to inspect, with what, and where to write the recording with the advice applied."""

    file: str
    profile: Profile | None = None
    url: str | None = None
    block_size: int | None = None
    rewrite: Path | None = None
    force: bool = False


async def inspect(asked: Asked, say: Say) -> dict[str, Any]:
    """The object of schema ``vtune.inspect/1``. Raises VtuneError."""
    path = paths.find("recordings", asked.file, recording.SUFFIXES)
    if asked.rewrite is not None:
        rewrite.refuse(asked.rewrite, path, asked.force)
    engine = await source.of_engine(asked.url) if asked.url else None
    with contextlib.ExitStack() as stack:
        if engine is not None and asked.url is not None:
            facts = stack.enter_context(source.of_url(asked.url, *engine))
        elif asked.profile is not None:
            facts = stack.enter_context(source.of_profile(asked.profile, say))
        else:
            facts = source.by_characters()
        own = _own(path)
        if own is not None:
            notes = [f"{own.left_out} calls for embeddings are left out"] if own.left_out else []
            return _text(asked, facts, path, own.header, list(own.requests), [*notes, *facts.notes])
        plan, report = stack.enter_context(opened(path, Options()))
        notes = [*_told(report), *facts.notes]
        if hashed.is_hashed(next(plan.requests(expand=False))):
            return _hashed(asked, facts, path, plan.requests, notes)
        return _text(asked, facts, path, plan.header, list(plan.requests(expand=False)), notes)


def _own(path: Path) -> recording.Recording | None:
    """The recording as it is; None for what has to be read by an importer, or is too large to be held."""
    with contextlib.suppress(VtuneError):
        first = recording.load(path, 1, generating=True).requests[0]
        return None if hashed.is_hashed(first) else recording.load(path, generating=True)
    return None


def _told(report: Any) -> list[str]:
    missed = report.read - report.kept
    return [f"{missed} of {report.read} rows can't be replayed and are left out"] if missed else []


def _hashed(
    asked: Asked, facts: Facts, path: Path, requests: Callable[[bool], Iterable[Request]], notes: list[str]
) -> dict[str, Any]:
    """Twice over the file instead of all of it in memory."""
    if asked.rewrite is not None:
        raise VtuneError(f"{path} has no text to rewrite", "leave --rewrite out")
    first = next(iter(requests(False)))
    block = asked.block_size or facts.block_size or hashed.fitting(first)
    unknown = 0

    def rows() -> Iterator[Row]:
        nonlocal unknown
        unknown = 0
        for request in requests(False):
            if not hashed.is_hashed(request):
                raise VtuneError(f"{path} mixes prompts with rows that have only lengths", "inspect them apart")
            unknown += not request.extra.get("hash_ids")
            yield hashed.row(request, block)

    tally = build.Tally(block, hashed.unit(first, block))
    for row in rows():
        tally.feed(row)
    notes = [note for note in notes if note not in source.by_characters().notes]
    if tally.unit > block:
        notes.append(f"pools are worked out in the trace's blocks of {tally.unit} tokens")
    if unknown:
        notes.append(f"no prefix information for {unknown} requests: they count as sharing nothing")
    pools = _pools(rows, tally, facts.kv_tokens)
    return build.result(_name(path), "hash-ids", tally, pools, facts.kv_tokens, None, notes)


def _text(
    asked: Asked, facts: Facts, path: Path, header: dict[str, Any], requests: list[Request], notes: list[str]
) -> dict[str, Any]:
    block = asked.block_size or facts.block_size or source.DEFAULT_BLOCK
    if asked.block_size and facts.block_size not in (None, asked.block_size):
        notes.append(f"blocks of {block} as asked; the engine's are {facts.block_size}")
    if facts.tokens == "characters" and all(_is_ids(request) for request in requests):
        facts = replace(facts, tokens="exact", notes=[])
        notes = [note for note in notes if note not in source.by_characters().notes]
    counted = doctor.Counted(facts.count, block, facts.per_token)
    tally = build.Tally(block)
    named = grouping.named(requests)
    rows = [replace(row, group=group) for row, group in zip(counted.rows(requests), named, strict=True)]
    for row in rows:
        tally.feed(row)
    if len(requests) > doctor.MOST:
        notes.append(f"the first {doctor.MOST:,} requests were compared with each other for what breaks prefixes")
    diagnosis = doctor.examine(requests, counted)
    if facts.tokens == "exact" and any(has_media(request.body) for request in requests):
        notes.append("some prompts have images, whose tokens look alike: where images differ, less is reused than told")
    if asked.rewrite is not None:
        rewrite.write(asked.rewrite, path, header, diagnosis, asked.force)
        notes.append(f"{asked.rewrite} has the advice applied: replay both to measure the gain")
    pools = _pools(lambda: rows, tally, facts.kv_tokens)
    return build.result(_name(path), facts.tokens, tally, pools, facts.kv_tokens, diagnosis, notes)


def _pools(rows: Callable[[], Iterable[Row]], tally: build.Tally, known: int | None) -> list[capacity.Measured]:
    wanted = capacity.sizes(tally.largest, len(tally.cache), tally.unit, known)
    return capacity.measured(rows(), wanted, tally.unit)


def _is_ids(request: Request) -> bool:
    prompt = request.body.get("prompt")
    return isinstance(prompt, list) and bool(prompt) and all(isinstance(id, int) for id in prompt)


def _name(path: Path) -> str:
    return Path(path.name.removesuffix(".gz").removesuffix(".zst")).stem
