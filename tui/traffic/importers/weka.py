"""Weka's agent traces: one conversation an object, whose hash ids are its own, in full blocks of 64 tokens."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import Found, Skip, text, whole
from tui.traffic.importers.lengths import made_request
from tui.traffic.importers.sniff import Sniffed

BLOCK = 64


def conversation(line: int, row: dict[str, Any]) -> Rows:
    session = text(row.get("id")) or f"line {line}"
    if not isinstance(row.get("requests"), list):
        yield Skip(line, "no requests in the conversation")
        return
    if row.get("block_size") not in (None, BLOCK):
        yield Skip(
            line, f"blocks of another size than {BLOCK} tokens", f"block_size is {str(row['block_size'])[:20]!r}"
        )
        return
    for one in _flat(row["requests"]):
        yield _request(line, one, session)


def _flat(requests: list[Any]) -> Iterator[Any]:
    """A subagent's requests are nested in the one that called it."""
    for one in requests:
        inner = one.get("requests") if isinstance(one, dict) else None
        if isinstance(inner, list):
            yield from _flat(inner)
        if not isinstance(inner, list) or "in" in one:
            yield one


def _request(line: int, one: Any, session: str) -> Found | Skip:
    if not isinstance(one, dict):
        return Skip(line, "a request that is no object")
    kind, wait = one.get("type"), one.get("api_time")
    found = made_request(line, one, one.get("in"), one.get("out"), stamp=one.get("t"), session=session,
                         group=kind if isinstance(kind, str) else None)  # fmt: skip
    if isinstance(found, Found) and found.made:
        # No ids is known here, not missing: the prompt is shorter than a block.
        known = () if one.get("hash_ids") == [] else found.made.blocks
        found.made = replace(found.made, blocks=known, space=session, whole_only=True)
        if isinstance(wait, (int, float)) and not isinstance(wait, bool) and wait >= 0:
            found.reply = {"e2e_s": float(wait)}
            ttft = one.get("ttft")
            if whole(ttft) is not None or isinstance(ttft, float):
                found.reply["ttft_s"] = float(ttft)  # type: ignore[arg-type]
    return found


def _matches(found: Sniffed) -> str | None:
    for row in found.objects:
        requests = row.get("requests")
        if isinstance(requests, list) and requests and isinstance(requests[0], dict) and "in" in requests[0]:
            return "conversations with requests of in, out and hash_ids"
    return None


WEKA = Format(
    "weka", "Weka agent trace", _matches, by_object(conversation), "s", chain=True, block=BLOCK,
    lacks=("when conversations started",), notes=("each conversation starts at 0: all of them start together",),
)  # fmt: skip
