"""Token ids for prompts of which only the length is known.

Equal hash ids give equal tokens, so that the source's prefix structure survives; everything else is
new for each request and shares nothing. Drawn from SHAKE-128 of a text that names the block, hence
the same in every process (Python's own ``hash()`` of a text is not).
"""

from functools import lru_cache
from hashlib import shake_128

from tui.traffic.importers.found import Made

# Ids of three digits, 100 to 999, exist in every tokenizer that serves text. A byte makes a digit.
_FIRST = bytes(ord("1") + n % 9 for n in range(256))
_OTHER = bytes(ord("0") + n % 10 for n in range(256))
_WIDTH = 4  # characters of an id and its comma


def prompt(made: Made, block: int, seed: int, own: str) -> str:
    """The ids as the inside of a JSON list; `own` names what this request alone has."""
    parts, left = [], made.tokens
    for id in made.blocks or ():
        if left <= 0:
            break
        parts.append(_block(f"{seed}/{made.space}/{id}", block, min(block, left)))
        left -= block
    if left > 0:
        parts.append(_draw(f"{seed}//{own}", left))
    return ",".join(parts)


def fits(made: Made, block: int) -> bool:
    """Whether the hash ids cover the length at `block` tokens each, as the source's own rule has it."""
    if not made.blocks:
        return True
    if made.whole_only:
        return len(made.blocks) * block <= made.tokens
    return len(made.blocks) == -(-made.tokens // block)


def range_of(made: Made) -> tuple[int, int]:
    """Lowest and highest block size at which a row is sound: ceil(tokens / size) = number of ids."""
    count = len(made.blocks or ())
    if made.whole_only:
        return made.tokens // (count + 1) + 1, max(1, made.tokens // max(count, 1))
    lowest = -(-made.tokens // count)
    highest = made.tokens if count == 1 else (made.tokens - 1) // (count - 1)
    return lowest, (1 << 30) if count == 1 else highest


def propose(lowest: int, highest: int) -> int | None:
    """A block size between the two, a power of two if there is one."""
    if lowest > highest:
        return None
    power = 1 << max(0, (lowest - 1).bit_length())
    return power if power <= highest else lowest


@lru_cache(maxsize=4096)
def _block(name: str, block: int, tokens: int) -> str:
    """The first `tokens` of a block: its beginning is the same, however much of it a prompt has."""
    return _draw(name, block)[: _WIDTH * tokens - 1]


def _draw(name: str, count: int) -> str:
    digits = shake_128(name.encode()).digest(3 * count)
    ids = bytearray(b"," * (_WIDTH * count))
    ids[0::_WIDTH] = digits[0::3].translate(_FIRST)
    ids[1::_WIDTH] = digits[1::3].translate(_OTHER)
    ids[2::_WIDTH] = digits[2::3].translate(_OTHER)
    return ids[:-1].decode("ascii")
