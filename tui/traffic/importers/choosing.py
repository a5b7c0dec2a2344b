"""Which of the kept requests are written, and with how many tokens a hash id."""

from dataclasses import dataclass

from tui.traffic.importers import blocks, select
from tui.traffic.importers.arrange import Arranged
from tui.traffic.importers.reading import Reading


@dataclass(slots=True)
class Blocks:
    """`size` in tokens; `assumed` says that the rows, not the format, made it so."""

    size: int
    assumed: bool = False


def choose(reading: Reading, arranged: Arranged) -> tuple[list[int], Blocks]:
    """(numbers in the order of sending, block size); everything left out is counted in the report."""
    lines = reading.kept.lines
    left_out = set(range(len(reading.kept))) - set(arranged.order) if len(arranged.order) < len(reading.kept) else set()
    for number in sorted(left_out):
        reading.skip(lines[number], "no time, where other requests have one")
    size = _block_size(reading)
    left_out |= _unsound(reading, size.size, left_out)
    left_out |= _leaking(reading, left_out)
    order = [number for number in arranged.order if number not in left_out]
    order = _asked_for(reading, order)
    if order and (start := arranged.at[order[0]]):
        for number in order:
            arranged.at[number] -= start
    return order, size


def _block_size(reading: Reading) -> Blocks:
    """The one asked for, or the format's; another one where it fits no row and some other size fits all of them."""
    format = reading.format.block or 512
    if reading.options.block_size:
        return Blocks(reading.options.block_size)
    lowest, highest, rows, fitting = 1, 1 << 30, 0, 0
    for _, made in reading.kept.made_prompts():
        if made.blocks:
            low, high = blocks.range_of(made)
            lowest, highest = max(lowest, low), min(highest, high)
            rows += 1
            fitting += blocks.fits(made, format)
    proposed = blocks.propose(lowest, highest)
    if rows and not fitting and proposed is not None:
        reading.report.notes.append(
            f"hash ids stand for {proposed} tokens each: the format's {format} fits no row (--block-size overrules)"
        )
        return Blocks(proposed, assumed=True)
    return Blocks(format)


def _unsound(reading: Reading, block: int, left_out: set[int]) -> set[int]:
    """Rows whose ids do not cover their length are refused rather than shortened. One id, one place is only noted."""
    found, place_of, moved = set(), {}, 0
    for number, made in reading.kept.made_prompts():
        if number in left_out or not made.blocks:
            continue
        if not blocks.fits(made, block):
            detail = f"{len(made.blocks)} hash ids for {made.tokens} tokens at {block} a block"
            reading.skip(reading.kept.lines[number], "hash ids that do not cover the prompt's length", detail)
            found.add(number)
        elif len(set(made.blocks)) < len(made.blocks):
            reading.skip(reading.kept.lines[number], "a hash id twice in one prompt")
            found.add(number)
        else:
            for place, id in enumerate(made.blocks):
                moved += place_of.setdefault((made.space, id), place) != place
    if moved:
        reading.report.notes.append(
            f"{moved} hash ids come at another place than before: they share tokens, not a prefix"
        )
    return found


def _leaking(reading: Reading, left_out: set[int]) -> set[int]:
    """Requests whose text repeats a credential that the same file sends in a header, a URL or beside the prompt."""
    if not reading.credentials:
        return set()
    found = set()
    for number in range(len(reading.kept)):
        _, before, rest = reading.kept.row(number)
        if number not in left_out and any(held in rest or held in before for held in reading.credentials):
            found.add(number)
            reading.skip(
                reading.kept.lines[number],
                "its text repeats a key that the file itself uses as one (--mask-secrets keeps the request)",
            )
    return found


def _asked_for(reading: Reading, order: list[int]) -> list[int]:
    options = reading.options
    asked = (
        ("--sample", options.sample, lambda n: select.sample(reading.kept, order, n, options.seed)),
        ("--limit", options.limit, lambda n: select.first(reading.kept, order, n)),
    )
    for word, count, draw in asked:
        if count is not None and len(order) > count:
            chosen = draw(count)
            for number in order:
                if number not in chosen:
                    reading.skip(reading.kept.lines[number], f"beyond {word} {count}", problem=False)
            order = [number for number in order if number in chosen]
    return order
