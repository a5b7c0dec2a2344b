"""One call with a tool, as each instrumentation writes it into spans: the same request comes out of all of them."""

import json
from hashlib import sha256

import pytest
from made_imports import imported, lines, times

BEGIN = 1767225600_000000000
CALL = {"id": "c", "type": "function", "function": {"name": "w", "arguments": '{"city": "Bern"}'}}
MESSAGES = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "rain", "tool_call_id": "c"},
]
TOOL = {"type": "function", "function": {"name": "w", "parameters": {"type": "object"}}}
COMMON = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.request.max_tokens": 50,
          "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 4}  # fmt: skip


def typed(value):
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": listed(value)}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def listed(attributes):
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def span(attributes, *events, **more):
    return {"traceId": "t", "spanId": "s", "name": "chat m", "startTimeUnixNano": str(BEGIN),
            "endTimeUnixNano": str(BEGIN + 10**9), "attributes": listed(attributes),
            "events": [{"name": name, "attributes": listed(given)} for name, given in events], **more}  # fmt: skip


def exported(path, *spans):
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}))
    return path


def messages_as_events(wrap):
    call = {"tool_calls": json.dumps([CALL])}
    said = (("system", {"content": "be brief"}), ("user", {"content": "weather?"}), ("assistant", call),
            ("tool", {"content": "rain", "id": "c"}))  # fmt: skip
    events = [(f"gen_ai.{role}.message", wrap(given)) for role, given in said]
    return [*events, ("gen_ai.choice", wrap({"index": 0, "message": json.dumps({"content": "umbrella"})}))]


def one_text(given):
    return {"gen_ai.event.content": json.dumps(given)}


TRACELOOP = {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.request.max_tokens": 50,
    "gen_ai.usage.prompt_tokens": 30, "gen_ai.usage.completion_tokens": 4,
    "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "be brief",
    "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "weather?",
    "gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "c",
    "gen_ai.prompt.2.tool_calls.0.name": "w", "gen_ai.prompt.2.tool_calls.0.arguments": '{"city": "Bern"}',
    "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.content": "rain", "gen_ai.prompt.3.tool_call_id": "c",
    "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "umbrella",
    "llm.request.functions.0.name": "w", "llm.request.functions.0.parameters": '{"type": "object"}'}  # fmt: skip
CALLED = {"tool_call.id": "c", "tool_call.function.name": "w", "tool_call.function.arguments": '{"city": "Bern"}'}
WORDS = {"message_content.type": "text", "message_content.text": "weather?"}
NESTED = [
    {"message.role": "system", "message.content": "be brief"},
    {"message.role": "user", "message.contents": [WORDS]},
    {"message.role": "assistant", "message.tool_calls": [CALLED]},
    {"message.role": "tool", "message.content": "rain", "message.tool_call_id": "c"},
]
OPENINFERENCE = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 30,
    "llm.token_count.completion": 4, "llm.invocation_parameters": json.dumps({"model": "m", "max_tokens": 50}),
    "llm.tools": [{"tool.json_schema": json.dumps(TOOL)}],
    "input.value": "{}", "output.value": "umbrella"}  # fmt: skip
NUMBERED = {f"llm.input_messages.{n}.{key}": value for n, item in enumerate(NESTED) for key, value in item.items()
            if isinstance(value, str)} | {
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "weather?",
    **{f"llm.input_messages.2.message.tool_calls.0.{key}": value for key, value in CALLED.items()},
    "llm.tools.0.tool.json_schema": json.dumps(TOOL)}  # fmt: skip
SPANS = {
    "events": span(COMMON | {"gen_ai.tool.definitions": [TOOL]}, *messages_as_events(dict)),
    "events as one text": span(COMMON | {"gen_ai.tool.definitions": [TOOL]}, *messages_as_events(one_text)),
    "traceloop": span(TRACELOOP),
    "openinference": span({key: value for key, value in OPENINFERENCE.items() if key != "llm.tools"} | NUMBERED),
    "openinference nested": span(OPENINFERENCE | {"llm.input_messages": NESTED}),
    "pydantic-ai": span(COMMON | {"gen_ai.tool.definitions": json.dumps([TOOL]), "events": json.dumps(
        [{"event.name": name, **given} for name, given in messages_as_events(dict)])}),
    "vercel": span({**COMMON, "ai.prompt.messages": json.dumps(MESSAGES), "ai.response.text": "umbrella",
                    "ai.prompt.tools": [json.dumps(TOOL)]}),
}  # fmt: skip


def same(loaded):
    (request,) = loaded.requests
    said = [{**m, "content": m["content"][0]["text"] if isinstance(m.get("content"), list) else m.get("content")}
            for m in request.body["messages"]]  # fmt: skip
    assert said == MESSAGES
    assert {key: value for key, value in request.body.items() if key != "messages"} == {
        "model": "m", "max_tokens": 50, "tools": [TOOL]}  # fmt: skip
    assert request.reply["usage"] == {"prompt_tokens": 30, "completion_tokens": 4} and request.reply["e2e_s"] == 1.0
    assert request.reply["text_sha256"] == sha256(b"umbrella").hexdigest()


@pytest.mark.parametrize("convention", SPANS)
def test_every_convention_gives_the_whole_prompt(tmp_path, convention):
    loaded, report = imported(exported(tmp_path / "spans.json", SPANS[convention]))
    assert report.format == "otel" and "prompt text" not in " ".join(report.lacks)
    same(loaded)


def test_nested_attributes_and_those_of_a_table(tmp_path):
    stamps = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}
    tree = {"openinference": {"span": {"kind": "LLM"}},
            "llm": {"model_name": "m", "token_count": {"prompt": 30, "completion": 4},
                    "tools": [{"tool": {"json_schema": json.dumps(TOOL)}}],
                    "invocation_parameters": '{"max_tokens": 50}', "input_messages": NESTED},
            "output": {"value": "umbrella"}}  # fmt: skip
    context = {"trace_id": "t", "span_id": "s"}
    path = lines(tmp_path / "nested.jsonl", {"name": "llm", "context": context, **stamps, "attributes": tree})
    loaded, _ = imported(path)
    same(loaded)
    assert (loaded.requests[0].id, loaded.requests[0].extra["session"]) == ("s", "t")
    table = {f"attributes.{key}": value for key, value in (OPENINFERENCE | {"llm.input_messages": NESTED}).items()}
    flat = {"context.span_id": "s", "start_time": 1767225600000, "end_time": 1767225601000, **table}
    same(imported(lines(tmp_path / "table.jsonl", flat))[0])


def test_events_that_are_logged_apart_from_their_span(tmp_path):
    def record(n, name, body, **more):
        return {"timeUnixNano": str(BEGIN + n * 10**8), "traceId": "t", "spanId": "s", "eventName": name,
                "body": typed(body), "attributes": listed({"gen_ai.system": "openai"}), **more}  # fmt: skip

    said = [record(n, name, given) for n, (name, given) in enumerate(messages_as_events(dict))]
    other = record(9, "device.app.lifecycle", {"x": "y"})
    details = record(9, "gen_ai.client.inference.operation.details", {}, spanId="d")
    parts = [{"type": "text", "content": "q"}]
    details["attributes"] = listed(COMMON | {"gen_ai.input.messages": [{"role": "user", "parts": parts}]})
    path = lines(tmp_path / "logs.jsonl", *({"resourceLogs": [{"scopeLogs": [{"logRecords": [one]}]}]}
                                            for one in (*said[:3], details, other, *said[3:])))  # fmt: skip
    loaded, report = imported(path)
    assert (report.read, report.kept) == (3, 2) and times(loaded) == [0, 0.9]
    assert loaded.requests[0].body["messages"] == MESSAGES and loaded.requests[0].reply["e2e_s"] == 0.4
    assert loaded.requests[1].body["messages"] == [{"role": "user", "content": "q"}]


def test_a_prompt_that_a_limit_cut_is_never_replayed_as_if_whole(tmp_path):
    gap = {key: value for key, value in TRACELOOP.items() if not key.startswith("gen_ai.prompt.1.")}
    unseen = [("gen_ai.user.message", {"role": "user"}), ("gen_ai.assistant.message", {"content": "half"})]
    empty = COMMON | {"gen_ai.input.messages": ""}
    spans = [span(gap), span(TRACELOOP, droppedAttributesCount=3), span(COMMON, *unseen), span(empty)]
    loaded, report = imported(exported(tmp_path / "cut.json", *spans))
    assert (report.read, report.kept) == (4, 2)
    assert report.skipped["the prompt was cut by an attribute limit"][0] == 2
    assert len(loaded.requests[0].body["prompt"]) == 30 and "speculative decoding" in report.rules_out


def test_completions_are_sent_as_completions(tmp_path):
    openinference = {"openinference.span.kind": "LLM", "llm.prompts.0.prompt.text": "def fib(n):"}
    inside = {"openinference.span.kind": "LLM", "input.value": json.dumps({"prompt": "once", "model": "m"})}
    traceloop = {"llm.request.type": "completion", "gen_ai.prompt.0.user": "upon"}
    spans = [span(given, spanId=str(n)) for n, given in enumerate((openinference, inside, traceloop))]
    loaded, _ = imported(exported(tmp_path / "texts.json", *spans))
    assert [r.path for r in loaded.requests] == ["/v1/completions"] * 3
    assert [r.body["prompt"] for r in loaded.requests] == ["def fib(n):", "once", "upon"]


def test_other_containers_of_spans_and_lines_of_other_signals(tmp_path):
    one = SPANS["traceloop"]
    held = {
        "tempo.json": {"batches": [{"scopeSpans": [{"spans": [one]}]}]},
        "tempo2.json": {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}},
        "old.json": {"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [one]}]}]},
    }
    for name, value in held.items():
        for indent in (None, 1):
            (tmp_path / name).write_text(json.dumps(value, indent=indent))
            same(imported(tmp_path / name)[0])
        same(imported(lines(tmp_path / f"{name}l", value, value), limit=1)[0])
    mixed = lines(tmp_path / "mixed.jsonl", {"resourceMetrics": []}, {"resourceSpans": []}, held["old.json"])
    assert imported(mixed)[1].kept == 1


def test_a_call_that_a_framework_and_its_client_both_tell_is_one_request(tmp_path):
    spans = [
        span(TRACELOOP, spanId="client", parentSpanId="framework"),
        span(OPENINFERENCE | {"llm.input_messages": [{**NESTED[1], "message.content": "other"}]}, spanId="next"),
        span(TRACELOOP, spanId="framework", parentSpanId="root"),
        span(TRACELOOP, spanId="again", parentSpanId="root"),  # asked a second time
    ]
    loaded, report = imported(exported(tmp_path / "twice.json", *spans))
    assert [r.id for r in loaded.requests] == ["client", "next", "again"]
    assert report.skipped["the same call as the span around it or inside it"][0] == 1
