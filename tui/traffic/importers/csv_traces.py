"""CSV traces of lengths: Azure LLM inference (2023 to 2025) and BurstGPT (both layouts), read by name of column."""

import re
from collections.abc import Iterable

from tui.traffic.importers.format import Format, Rows, by_row
from tui.traffic.importers.found import Found, whole
from tui.traffic.importers.lengths import made_request
from tui.traffic.importers.sniff import Sniffed

_NO_SUM = "rows whose total is not prompt + answer"


def azure_row(line: int, row: dict[str, str]) -> Rows:
    row = dict(zip(_plain(row), row.values(), strict=True))
    found = made_request(line, {}, row.get("contexttokens"), row.get("generatedtokens"), stamp=row.get("timestamp"))
    if isinstance(found, Found) and whole(row.get("numimages")):
        found.extra = {"images": whole(row.get("numimages"))}
    yield found


def burstgpt_row(line: int, row: dict[str, str]) -> Rows:
    """0 response tokens is a failed call (the authors): it is kept for its arrival, and --drop-failed leaves it out."""
    row = dict(zip(_plain(row), row.values(), strict=True))
    prompt, output, total = row.get("requesttokens"), row.get("responsetokens"), whole(row.get("totaltokens"))
    found = made_request(line, {}, prompt, output, stamp=row.get("timestamp"), session=row.get("sessionid") or None,
                         group=row.get("logtype") or None)  # fmt: skip
    if isinstance(found, Found):
        elapsed = _seconds(row.get("elapsedtime"))
        found.reply = {"e2e_s": elapsed} if elapsed else None
        if total is not None and found.made and total != found.made.tokens + (found.output_tokens or 0):
            found.extra = {"odd": _NO_SUM}
    yield found


def _plain(names: Iterable[str]) -> list[str]:
    """Names of columns as copies of these files also write them: context_tokens is ContextTokens."""
    return [re.sub("[^a-z]", "", name.lower()) for name in names]


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def _is_azure(found: Sniffed) -> str | None:
    known = {"contexttokens", "generatedtokens"} <= set(_plain(found.columns))
    return "columns TIMESTAMP, ContextTokens, GeneratedTokens" if known else None


def _is_burstgpt(found: Sniffed) -> str | None:
    known = {"requesttokens", "responsetokens"} <= set(_plain(found.columns))
    return "columns Request tokens, Response tokens" if known else None


AZURE = Format("azure", "Azure LLM inference trace", _is_azure, by_row(azure_row))
BURSTGPT = Format("burstgpt", "BurstGPT", _is_burstgpt, by_row(burstgpt_row), "s", chain=True,
                  notes=("times have a resolution of 1 s",))  # fmt: skip
