"""OpenTelemetry GenAI spans: OTLP/JSON, a span a line, and inference-perf's session files."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tui.traffic.importers import chat_parts, reply
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Made, Skip, text, usage, whole
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

_OPENED = (
    ("spans",), ("resourceSpans",), ("resourceSpans", "*"), ("resourceSpans", "*", "scopeSpans"),
    ("resourceSpans", "*", "scopeSpans", "*"), ("resourceSpans", "*", "scopeSpans", "*", "spans"),
)  # fmt: skip
_SPANS = {("spans", "*"), ("resourceSpans", "*", "scopeSpans", "*", "spans", "*")}
_MAKES_TEXT = {"chat", "text_completion", "generate_content", "completion"}
_SESSION = (
    "gen_ai.conversation.id",
    "session.id",
    "exgentic.session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_SETTINGS = {
    "max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "seed": "seed",
    "stop_sequences": "stop", "choice.count": "n", "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}  # fmt: skip


def rows(source: Source) -> Rows:
    """Spans that make no text (tools, agents, HTTP) are skipped with their kind."""
    for line, span in _spans(source):
        yield Skip(line, str(span)) if not isinstance(span, dict) else _span(line, span)


def _spans(source: Source) -> Iterator[tuple[int, Any]]:
    if source.one_a_line():
        for item in source.objects():
            if isinstance(item, Skip):
                yield item.line, item.detail or item.reason
            else:
                yield from ((item[0], span) for span in _held(item[1]))
        return
    loose: dict[str, Any] = {}
    for item in source.inside(*_OPENED):
        if isinstance(item, Skip):
            yield item.line, item.reason
            continue
        line, path, value = item
        if path in _SPANS:
            yield line, value
        elif path == ():
            yield from [(line, loose)] if "attributes" in loose else []
            loose = {}
        elif len(path) == 1:
            loose[path[0]] = value


def _held(row: dict[str, Any]) -> list[Any]:
    """The spans of one line: a session's, OTLP's, or itself."""
    if isinstance(row.get("spans"), list):
        return row["spans"]
    if "resourceSpans" not in row:
        return [row]
    scopes = [s for r in row["resourceSpans"] if isinstance(r, dict) for s in r.get("scopeSpans") or ()]
    return [span for scope in scopes if isinstance(scope, dict) for span in scope.get("spans") or ()]


def _span(line: int, span: dict[str, Any]) -> Found | Skip:
    attributes = _attributes(span.get("attributes"))
    attributes |= _events(span.get("events"))
    operation = attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type")
    if not (isinstance(operation, str) and operation in _MAKES_TEXT) and not (
        operation is None and any(k.startswith(("gen_ai.prompt.", "gen_ai.input")) for k in attributes)
    ):
        return Skip(line, f"a span that makes no text: {str(operation or span.get('name') or 'unnamed')[:40]}")
    begin, end = _time(span, "start"), _time(span, "end")
    counts = usage(_first(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
                   _first(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"))  # fmt: skip
    said = _first(attributes, "gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion.0.content")
    words = chat_parts.answer(said)
    error = bool(attributes.get("error.type")) or _failed(span.get("status"))
    found = Found(
        line, CHAT, _settings(attributes), begin, text(span.get("span_id") or span.get("spanId")),
        text(_first(attributes, *_SESSION)) or text(span.get("trace_id") or span.get("traceId")),
        answer=words, output_tokens=(counts or {}).get("completion_tokens"), failed=error,
        reply=reply.made(None, text=words, counts=counts, e2e_s=_between(begin, end),
                         ttft_s=_seconds(attributes.get("gen_ai.response.time_to_first_chunk"))),
    )  # fmt: skip
    return _with_prompt(found, attributes, counts)


def _with_prompt(found: Found, attributes: dict[str, Any], counts: dict[str, int] | None) -> Found | Skip:
    raw = _first(attributes, "gen_ai.input.messages", "gen_ai.prompt", "llm.prompts", "input.value")
    if raw is None:
        raw = _numbered(attributes)
    if raw is None:
        tokens = (counts or {}).get("prompt_tokens")
        if not tokens:
            return Skip(found.line, "the prompt's content was not captured, nor its length")
        found.path, found.made = COMPLETIONS, Made(tokens)
        if found.output_tokens:
            found.body = {"max_tokens": found.output_tokens, "ignore_eos": True}
        return found
    unpacked = chat_parts.unpacked(raw)
    if isinstance(unpacked, str) and unpacked[:1] in "[{":
        return Skip(found.line, "the prompt was cut by an attribute limit", "the prompt is JSON text that was cut")
    messages = chat_parts.messages(unpacked)
    if not messages:
        return Skip(found.line, "the prompt is in no known form")
    system = chat_parts.answer(attributes.get("gen_ai.system_instructions"))
    if system and messages[0].get("role") != "system":
        messages.insert(0, {"role": "system", "content": system})
    found.body = {"messages": messages, **found.body}
    tools = chat_parts.unpacked(attributes.get("gen_ai.tool.definitions"))
    if isinstance(tools, list) and tools:
        found.body["tools"] = [
            t if "function" in t else {"type": "function", "function": t} for t in tools if isinstance(t, dict)
        ]
    return found


def _numbered(attributes: dict[str, Any]) -> list[dict[str, Any]] | None:
    """``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content``, ..."""
    found: list[dict[str, Any]] = []
    while (content := attributes.get(f"gen_ai.prompt.{len(found)}.content")) is not None:
        role = attributes.get(f"gen_ai.prompt.{len(found)}.role") or "user"
        found.append({"role": role, "content": content})
    return found or None


def _settings(attributes: dict[str, Any]) -> dict[str, Any]:
    named = ((ours, attributes.get(f"gen_ai.request.{theirs}")) for theirs, ours in _SETTINGS.items())
    model = attributes.get("gen_ai.request.model")
    return {
        **({"model": model} if isinstance(model, str) else {}),
        **{key: value for key, value in named if value is not None},
    }


def _attributes(value: Any) -> dict[str, Any]:
    """An object, or OTLP's list of ``{"key", "value": {"stringValue": ...}}``."""
    if isinstance(value, dict):
        return dict(value)
    items = value if isinstance(value, list) else ()
    return {str(i.get("key")): _otlp(i.get("value")) for i in items if isinstance(i, dict)}


def _otlp(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return whole(inner)
    if kind == "arrayValue":
        return [_otlp(item) for item in (inner or {}).get("values", ())]
    if kind == "kvlistValue":
        return {str(i.get("key")): _otlp(i.get("value")) for i in (inner or {}).get("values", ())}
    return inner


def _failed(status: Any) -> bool:
    return isinstance(status, dict) and status.get("code") in (2, "STATUS_CODE_ERROR")


def _events(events: Any) -> dict[str, Any]:
    """Conventions before attributes put the content into events of the span."""
    found: dict[str, Any] = {}
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            for key, value in _attributes(event.get("attributes")).items():
                if key.startswith(
                    (
                        "gen_ai.prompt",
                        "gen_ai.completion",
                        "gen_ai.input",
                        "gen_ai.output",
                        "gen_ai.system_instructions",
                    )
                ):
                    found[key] = value
    return found


def _time(span: dict[str, Any], which: str) -> Any:
    nanoseconds = span.get(f"{which}TimeUnixNano")
    if isinstance(nanoseconds, str) and nanoseconds.isdigit():
        return int(nanoseconds)
    if nanoseconds is not None:
        return nanoseconds
    return span.get(f"{which}_time", span.get(f"{which}Time"))


def _between(begin: Any, end: Any) -> float | None:
    if isinstance(begin, int) and isinstance(end, int):
        return (end - begin) / 1e9
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    except (TypeError, ValueError):
        return None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _first(attributes: dict[str, Any], *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _matches(found: Sniffed) -> str | None:
    if "resourceSpans" in found.keys:
        return "OTLP/JSON with resourceSpans"
    if "spans" in found.keys:
        return "a session with spans"
    if found.has("attributes") and found.share("span_id", "spanId", "start_time", "startTimeUnixNano") >= 0.5:
        return "spans, one a line"
    return None


OTEL = Format("otel", "OpenTelemetry GenAI spans, also inference-perf's", _matches, rows, links_by_answer=True)
