"""OpenTelemetry GenAI spans: OTLP/JSON, a span a line, inference-perf's session files, and logs of spans' events."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from tui.traffic.importers import chat_parts, genai, reply
from tui.traffic.importers.clock import between
from tui.traffic.importers.format import Format, Rows
from tui.traffic.importers.found import CHAT, COMPLETIONS, Found, Made, Skip, text, usage, whole
from tui.traffic.importers.lengths import LONGEST
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

# A collector's, those of before 2022, and Tempo's.
_RESOURCES = ("resourceSpans", "batches", "resourceLogs")
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scopeLogs")
_LEAVES = ("spans", "logRecords")
_CONTAINERS = {*_RESOURCES, *_SCOPES, *_LEAVES, "trace", "*"}
_MAKES_TEXT = {"chat", "text_completion", "generate_content", "completion"}
_ONE_TEXT = {"text_completion", "completion"}
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
_INVOCATION = (*_SETTINGS.values(), "max_completion_tokens", "response_format", "tool_choice", "parallel_tool_calls")
_PROMPT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_TWICE = "the same call as the span around it or inside it"
_WAITING = 10_000  # prompts whose answers have not come


def rows(source: Source) -> Rows:
    """Spans that make no text (tools, agents, HTTP) are skipped with their kind."""
    waiting: dict[tuple[Any, Any], dict[str, Any]] = {}
    told: dict[bytes, tuple[Any, Any]] = {}
    for line, span in _spans(source):
        if not isinstance(span, dict):
            yield Skip(line, str(span))
        elif "body" in span or "severityNumber" in span or "eventName" in span:
            yield from _logged(waiting, line, span)
        else:
            found = _span(line, span)
            yield Skip(line, _TWICE) if isinstance(found, Found) and _is_told(told, found, span) else found
    yield from (_span(span["line"], span) for span in waiting.values())


def _spans(source: Source) -> Iterator[tuple[int, Any]]:
    """Spans and log records, or why there is none."""
    if source.one_a_line():
        for item in source.objects():
            if isinstance(item, Skip):
                yield item.line, item.detail or item.reason
            else:
                yield from ((item[0], span) for span in _held(item[1]))
        return
    loose: dict[str, Any] = {}
    for item in source.inside(lambda path: _CONTAINERS.issuperset(path) and not _is_leaf(path)):
        if isinstance(item, Skip):
            yield item.line, item.reason
            continue
        line, path, value = item
        if _is_leaf(path):
            yield line, value
        elif path == ():
            yield from [(line, loose)] if any(key.partition(".")[0] == "attributes" for key in loose) else []
            loose = {}
        elif len(path) == 1:
            loose[path[0]] = value


def _is_leaf(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and path[-2] in _LEAVES


def _held(row: dict[str, Any]) -> Iterator[Any]:
    """The spans of one line: a session's, OTLP's, or itself."""
    inner = [row[key] for key in (*_RESOURCES, *_SCOPES, *_LEAVES) if isinstance(row.get(key), list)]
    if isinstance(row.get("trace"), dict):
        yield from _held(row["trace"])
    elif not inner:
        yield row
    for key in _LEAVES:
        yield from row[key] if isinstance(row.get(key), list) else ()
    for key in (*_RESOURCES, *_SCOPES):
        for one in row[key] if isinstance(row.get(key), list) else ():
            yield from _held(one) if isinstance(one, dict) else ()


def _is_told(told: dict[bytes, tuple[Any, Any]], found: Found, span: dict[str, Any]) -> bool:
    """Whether the span around it, or one inside it, is the same call: a framework and its client may both write one."""
    if found.made is not None:
        return False
    parent = _first(span, "parentSpanId", "parent_span_id", "parent_id")
    prompt = repr((_id(span, "trace"), found.body.get("messages"), found.body.get("prompt")))
    name = blake2b(prompt.encode(errors="replace"), digest_size=16).digest()
    other, others_parent = told.setdefault(name, (found.id, parent))
    return other != found.id and found.id is not None and (parent == other or others_parent == found.id)


def _logged(waiting: dict[tuple[Any, Any], dict[str, Any]], line: int, record: dict[str, Any]) -> Rows:
    """Events that are logged apart from their span belong together by its id; the answer comes last."""
    attributes, body = _attributes(record.get("attributes")), _otlp(record.get("body"))
    name = str(record.get("eventName") or attributes.get("event.name"))
    if not name.startswith("gen_ai."):
        yield Skip(line, "a log record of nothing that makes text")
        return
    key = (record.get("traceId"), record.get("spanId"))
    if key not in waiting and name == "gen_ai.choice":
        return  # one more answer to a prompt that is done
    stamp = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
    span = waiting.setdefault(key, {"line": line, "traceId": key[0], "spanId": key[1], "startTimeUnixNano": stamp,
                                    "attributes": {}, "events": []})  # fmt: skip
    span["events"].append({"name": name, "attributes": attributes | (body if isinstance(body, dict) else {})})
    if name == "gen_ai.choice":
        span["endTimeUnixNano"] = stamp
    if not name.endswith(".message"):
        yield _span(line, waiting.pop(key))
    elif len(waiting) > _WAITING:
        oldest = waiting.pop(next(iter(waiting)))
        yield _span(oldest["line"], oldest)


def _span(line: int, span: dict[str, Any]) -> Found | Skip:
    attributes = _attributes(span.get("attributes"))
    attributes |= {key.removeprefix("attributes."): v for key, v in span.items() if key.startswith("attributes.")}
    attributes = genai.flat(attributes)
    attributes |= genai.of_events(_events(span.get("events"))) | genai.of_events(attributes.get("events"))
    operation = attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type")
    kind = attributes.get("openinference.span.kind")
    named = operation or kind
    if not (operation in _MAKES_TEXT if isinstance(operation, str) else kind == "LLM") and (
        named is not None or not genai.is_prompted(attributes)
    ):
        return Skip(line, f"a span that makes no text: {str(named or span.get('name') or 'unnamed')[:40]}")
    begin, end = _time(span, "start"), _time(span, "end")
    counts = usage(_first(attributes, *_PROMPT_TOKENS), _first(attributes, *_OUTPUT_TOKENS))
    words = genai.answer(attributes)
    error = bool(attributes.get("error.type")) or _failed(span.get("status"))
    found = Found(
        line, CHAT, _settings(attributes), begin, _id(span, "span"),
        text(_first(attributes, *_SESSION)) or _id(span, "trace"),
        answer=words, output_tokens=(counts or {}).get("completion_tokens"), failed=error,
        reply=reply.made(None, text=words, counts=counts, e2e_s=between(begin, end),
                         ttft_s=_seconds(attributes.get("gen_ai.response.time_to_first_chunk"))),
    )  # fmt: skip
    if whole(span.get("droppedAttributesCount")) and genai.prompt(attributes) is not None:
        return Skip(line, "the prompt was cut by an attribute limit", "attributes of the span were dropped")
    return _with_prompt(found, attributes, counts, operation in _ONE_TEXT if isinstance(operation, str) else False)


def _id(span: dict[str, Any], of: str) -> str | None:
    """Its own, or its trace's."""
    context = span["context"] if isinstance(span.get("context"), dict) else {}
    return text(_first(span, f"{of}_id", f"{of}Id", f"context.{of}_id") or context.get(f"{of}_id"))


def _with_prompt(
    found: Found, attributes: dict[str, Any], counts: dict[str, int] | None, one_text: bool
) -> Found | Skip:
    raw = genai.prompt(attributes)
    if raw is None:
        return _lengths(found, counts)
    unpacked = chat_parts.unpacked(raw)
    if isinstance(unpacked, str) and unpacked[:1] in "[{":
        return Skip(found.line, "the prompt was cut by an attribute limit", "the prompt is JSON text that was cut")
    texts = _texts(unpacked, one_text)
    if texts:
        found.path, found.body = COMPLETIONS, {"prompt": texts if len(texts) > 1 else texts[0], **found.body}
        return found
    messages = chat_parts.messages(unpacked)
    if not messages:
        return Skip(found.line, "the prompt is in no known form")
    system = chat_parts.answer(attributes.get("gen_ai.system_instructions"))
    if system and messages[0].get("role") != "system":
        messages.insert(0, {"role": "system", "content": system})
    found.body = {"messages": messages, **found.body}
    if tools := genai.tools(attributes):
        found.body["tools"] = tools
    return found


def _lengths(found: Found, counts: dict[str, int] | None) -> Found | Skip:
    tokens = (counts or {}).get("prompt_tokens")
    if not tokens:
        return Skip(found.line, "the prompt's content was not captured, nor its length")
    if tokens > LONGEST:
        return Skip(found.line, f"over {LONGEST:,} tokens", f"{tokens:.3g} tokens")
    found.path, found.made = COMPLETIONS, Made(tokens)
    if found.output_tokens:
        found.body = {"max_tokens": found.output_tokens, "ignore_eos": True}
    return found


def _texts(prompt: Any, one_text: bool) -> list[str]:
    """The prompts of a completion; empty for those of a chat."""
    if isinstance(prompt, dict) and isinstance(prompt.get("prompt"), (str, list)):
        prompt, one_text = prompt["prompt"], True
    if isinstance(prompt, list) and prompt and all(isinstance(item, str) for item in prompt):
        return prompt
    if one_text and isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], dict):
        prompt = chat_parts.answer(prompt)
    return [prompt] if one_text and isinstance(prompt, str) and prompt else []


def _settings(attributes: dict[str, Any]) -> dict[str, Any]:
    model = _first(attributes, "gen_ai.request.model", "llm.model_name")
    given = chat_parts.unpacked(attributes.get("llm.invocation_parameters"))
    found = {key: given[key] for key in _INVOCATION if key in given} if isinstance(given, dict) else {}
    found |= {ours: attributes.get(f"gen_ai.request.{theirs}") for theirs, ours in _SETTINGS.items()
              if attributes.get(f"gen_ai.request.{theirs}") is not None}  # fmt: skip
    if isinstance(limit := found.get("max_tokens"), (str, float)) and whole(limit) is not None:
        found["max_tokens"] = whole(limit)
    return {
        **({"model": model} if isinstance(model, str) else {}),
        **{key: value for key, value in found.items() if value is not None},
    }


def _attributes(value: Any) -> dict[str, Any]:
    """An object, or OTLP's list of ``{"key", "value": {"stringValue": ...}}``."""
    if isinstance(value, dict):
        return dict(value)
    items = value if isinstance(value, list) else ()
    return {str(i.get("key")): _otlp(i.get("value")) for i in items if isinstance(i, dict)}


def _events(events: Any) -> list[Any]:
    given = events if isinstance(events, list) else []
    return [{**event, "attributes": _attributes(event.get("attributes"))} for event in given if isinstance(event, dict)]


def _otlp(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return whole(inner)
    if kind in ("arrayValue", "kvlistValue"):
        items = inner.get("values") if isinstance(inner, dict) else None
        listed = items if isinstance(items, list) else []
        return _attributes(listed) if kind == "kvlistValue" else [_otlp(item) for item in listed]
    return inner if kind.endswith("Value") else value


def _failed(status: Any) -> bool:
    return isinstance(status, dict) and _first(status, "code", "status_code") in (2, "STATUS_CODE_ERROR", "ERROR")


def _time(span: dict[str, Any], which: str) -> Any:
    nanoseconds = span.get(f"{which}TimeUnixNano")
    if isinstance(nanoseconds, str) and nanoseconds.isdigit():
        return int(nanoseconds)
    if nanoseconds is not None:
        return nanoseconds
    return span.get(f"{which}_time", span.get(f"{which}Time"))


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _first(attributes: dict[str, Any], *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _matches(found: Sniffed) -> str | None:
    for name in _RESOURCES:
        held = found.keys.get("trace")
        if name in found.keys or found.has(name) or (isinstance(held, dict) and name in held):
            return f"OTLP/JSON with {name}"
    if "spans" in found.keys:
        return "a session with spans"
    known = ("span_id", "spanId", "start_time", "startTimeUnixNano", "context.span_id")
    attributed = any(key.partition(".")[0] == "attributes" for row in found.objects for key in row)
    if attributed and found.share(*known) >= 0.5:
        return "spans, one a line"
    return None


OTEL = Format("otel", "OpenTelemetry GenAI spans, also inference-perf's", _matches, rows, links_by_answer=True)
