"""CSV traces of lengths: Azure LLM inference (2023 to 2025) and BurstGPT (both layouts), read by name of column."""

from tui.traffic.importers.format import Format, Rows, by_row
from tui.traffic.importers.found import Found, whole
from tui.traffic.importers.lengths import made_request
from tui.traffic.importers.sniff import Sniffed

_NO_SUM = "rows whose total is not prompt + answer"


def azure_row(line: int, row: dict[str, str]) -> Rows:
    found = made_request(line, {}, row.get("ContextTokens"), row.get("GeneratedTokens"), stamp=row.get("TIMESTAMP"))
    if isinstance(found, Found) and whole(row.get("NumImages")):
        found.extra = {"images": whole(row.get("NumImages"))}
    yield found


def burstgpt_row(line: int, row: dict[str, str]) -> Rows:
    """0 response tokens is a failed call (the authors): it is kept for its arrival, and --drop-failed leaves it out."""
    prompt, output, total = row.get("Request tokens"), row.get("Response tokens"), whole(row.get("Total tokens"))
    found = made_request(line, {}, prompt, output, stamp=row.get("Timestamp"), session=row.get("Session ID") or None,
                         group=row.get("Log Type") or None)  # fmt: skip
    if isinstance(found, Found):
        elapsed = whole(row.get("Elapsed time"))
        found.reply = {"e2e_s": float(elapsed)} if elapsed else None
        if total is not None and found.made and total != found.made.tokens + (found.output_tokens or 0):
            found.extra = {"odd": _NO_SUM}
    yield found


def _is_azure(found: Sniffed) -> str | None:
    return (
        "columns TIMESTAMP, ContextTokens, GeneratedTokens"
        if {"ContextTokens", "GeneratedTokens"} <= set(found.columns)
        else None
    )


def _is_burstgpt(found: Sniffed) -> str | None:
    return (
        "columns Request tokens, Response tokens"
        if {"Request tokens", "Response tokens"} <= set(found.columns)
        else None
    )


AZURE = Format("azure", "Azure LLM inference trace", _is_azure, by_row(azure_row))
BURSTGPT = Format("burstgpt", "BurstGPT", _is_burstgpt, by_row(burstgpt_row), "s", chain=True,
                  notes=("times have a resolution of 1 s",))  # fmt: skip
