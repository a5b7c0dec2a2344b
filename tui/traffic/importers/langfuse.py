"""Langfuse exports: a trace with its observations, or observations one a line or one a row."""

from typing import Any

from tui.traffic.importers import chat_parts, reply
from tui.traffic.importers.clock import between
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import CHAT, Found, Skip, text, usage, whole
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

_NAMES = {"startTime", "type", "input", "traceId"}
_NUMBERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "n")


def rows(source: Source) -> Rows:
    """`latency` is seconds in some places and milliseconds in others: only the stamps are used."""
    if source.head().lstrip()[:1] not in (b"{", b"["):
        for row in source.table():
            yield row if isinstance(row, Skip) else _observation(*row, None)
        return
    if source.one_a_line() or source.is_wrapped():
        for item in source.objects():
            if isinstance(item, Skip):
                yield item
            else:
                yield from _held(*item)
        return
    session: str | None = None
    loose: dict[str, Any] = {}
    for item in source.inside({("observations",)}.__contains__):
        if isinstance(item, Skip):
            yield item
            continue
        line, path, value = item
        if path == ("observations", "*"):
            yield _observation(line, value, session)
        elif path == ():
            yield from [_observation(line, loose, None)] if "type" in loose else []
            session, loose = None, {}
        elif len(path) == 1:
            loose[path[0]] = value
            session = _session(value) if path == ("trace",) else session


def _held(line: int, row: dict[str, Any]) -> Rows:
    if isinstance(row.get("observations"), list):
        yield from (_observation(line, one, _session(row.get("trace"))) for one in row["observations"])
    else:
        yield _observation(line, row, None)


def _session(trace: Any) -> str | None:
    return text(trace.get("sessionId")) or text(trace.get("id")) if isinstance(trace, dict) else None


def _observation(line: int, row: Any, session: str | None) -> Found | Skip:
    if not isinstance(row, dict):
        what = "observations without their content: export the observations, not the traces"
        return Skip(line, what if isinstance(row, str) else "an observation that is no object")
    row = {_camel(key): value for key, value in row.items()}
    if str(row.get("type")).upper() != "GENERATION":
        return Skip(line, f"not a generation: {str(row.get('type'))[:20]}")
    raw = chat_parts.unpacked(row.get("input"))
    if raw in (None, "", [], {}):
        return Skip(line, "the input was not captured")
    messages = chat_parts.messages(raw)
    if not messages:
        return Skip(line, "the input is in no known form")
    counts = chat_parts.unpacked(row.get("usageDetails")) or chat_parts.unpacked(row.get("usage"))
    known = usage(counts.get("input"), counts.get("output")) if isinstance(counts, dict) else None
    known = (
        known
        or usage(row.get("inputUsage"), row.get("outputUsage"))
        or usage(row.get("promptTokens"), row.get("completionTokens"))
    )
    words = chat_parts.answer(row.get("output"))
    begin = row.get("startTime")
    messages, tools = _without_definitions(messages)
    body = {"messages": messages, **tools, **_settings(chat_parts.unpacked(row.get("modelParameters")))}
    if isinstance(raw, dict) and isinstance(raw.get("tools"), list):
        body["tools"] = raw["tools"]
    if isinstance(model := row.get("model") or row.get("providedModelName"), str):
        body["model"] = model
    return Found(
        line, CHAT, body, begin, text(row.get("id")), text(row.get("sessionId")) or session or text(row.get("traceId")),
        answer=words, output_tokens=(known or {}).get("completion_tokens"), failed=row.get("level") == "ERROR",
        reply=reply.made(None, text=words, counts=known, ttft_s=between(begin, row.get("completionStartTime")),
                         e2e_s=between(begin, row.get("endTime"))),
    )  # fmt: skip


def _camel(name: str) -> str:
    """The export to a bucket writes start_time for startTime."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _without_definitions(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """LangChain's handler logs the tools that a model may call as messages of the role ``tool``."""
    tools = [m["content"] for m in messages if m.get("role") == "tool" and isinstance(m.get("content"), dict)
             and m["content"].get("type") == "function"]  # fmt: skip
    if not tools:
        return messages, {}
    return [m for m in messages if m.get("content") not in tools], {"tools": tools}


def _settings(given: Any) -> dict[str, Any]:
    """What the SDK sent, where it is a number above -1; the rest is as often text as not."""
    found: dict[str, Any] = {}
    for key in _NUMBERS if isinstance(given, dict) else ():
        value = given.get(key)
        if isinstance(value, str):
            value = chat_parts.unpacked(value) if not value.replace(".", "", 1).isdigit() else float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            found[key] = whole(value) if key not in ("temperature", "top_p") else value
    return {
        key: value for key, value in found.items() if value is not None and not (key.startswith("max") and value < 1)
    }


def _matches(found: Sniffed) -> str | None:
    if "observations" in found.keys:
        return "a trace with observations"
    if any(_NAMES <= {_camel(key) for key in row} for row in found.objects):
        return "observations with startTime, type and input"
    return "columns startTime, type, input" if _NAMES <= {_camel(name) for name in found.columns} else None


LANGFUSE = Format("langfuse", "Langfuse export", _matches, rows, links_by_answer=True)
