"""Observability exports and logs: OpenTelemetry, Langfuse, LiteLLM, vLLM."""

import csv
import json

import pytest
from made_imports import chat, ids, imported, lines, said, times

from tui.errors import VtuneError


def otlp(attributes, start=0, name="s"):
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    listed = [{"key": k, "value": {kinds[type(v)]: str(v) if isinstance(v, int) else v}} for k, v in attributes.items()]
    begin = 1767225600_000000000 + start
    return {
        "traceId": "t",
        "spanId": name,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 10**9),
        "attributes": listed,
    }


def test_otlp_parts_tools_and_content_that_was_not_captured(tmp_path):
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "weather?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "w", "arguments": {"city": "Bern"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "rain"}]},
    ]
    full = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.max_tokens": 50,
        "gen_ai.system_instructions": '[{"type":"text","content":"be brief"}]',
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"umbrella"}]}]',
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 4,
    }
    spans = [
        otlp(full),
        otlp({"gen_ai.operation.name": "execute_tool"}, 1),
        otlp(
            {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 77, "gen_ai.usage.output_tokens": 3},
            500_000_000,
            "n",
        ),
        otlp({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)[:40]}, 3),
        otlp({"gen_ai.operation.name": "chat"}, 4),
        otlp({"gen_ai.prompt.0.content": "old", "gen_ai.prompt.0.role": "user"}, 10**9, "o"),
    ]
    path = tmp_path / "otlp.json"
    path.write_text(
        json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}, indent=2)
    )
    loaded, report = imported(path)
    assert report.format == "otel" and report.read == 6 and times(loaded) == [0, 0.5, 1]
    first, lengths, old = loaded.requests
    assert [m["role"] for m in first.body["messages"]] == ["system", "user", "assistant", "tool"]
    assert (
        said(first)[:2] == ["be brief", "weather?"]
        and first.body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"city": "Bern"}'
    )
    assert len(lengths.body["prompt"]) == 77 and "speculative decoding" in report.rules_out
    assert said(old) == ["old"]
    one_a_line = lines(
        tmp_path / "otlp.jsonl", *({"resourceSpans": [{"scopeSpans": [{"spans": [s]}]}]} for s in spans), "{torn"
    )
    assert imported(one_a_line)[1].kept == 3


@pytest.mark.parametrize("layout", ["trace", "rows", "csv"])
def test_langfuse_exports(tmp_path, layout):
    generation = {
        "id": "g",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": "2026-01-01T00:00:00.000Z",
        "endTime": "2026-01-01T00:00:02.500Z",
        "completionStartTime": "2026-01-01T00:00:00.250Z",
        "model": "m",
        "input": json.dumps(json.dumps({"messages": chat("q")["messages"]})),
        "modelParameters": json.dumps({"max_tokens": "64", "temperature": 0.5, "num_output": -1}),
        "output": json.dumps("ok"),
        "usageDetails": json.dumps({"input": 9, "output": 2}),
    }
    rows = [generation, {**generation, "id": "s", "type": "SPAN"}, {**generation, "id": "e", "input": ""}]
    path = tmp_path / f"{layout}.txt"
    if layout == "trace":
        path.write_text(
            json.dumps({"trace": {"id": "t", "sessionId": "talk", "userId": "marta"}, "observations": rows}, indent=1)
        )
    elif layout == "rows":
        lines(path, *rows)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(generation))
            writer.writeheader()
            writer.writerows(rows)
    loaded, report = imported(path)
    assert report.format == "langfuse" and report.read == 3 and ids(loaded) == ["g"]
    request = loaded.requests[0]
    assert request.body == {"messages": chat("q")["messages"], "max_tokens": 64, "temperature": 0.5, "model": "m"}
    assert request.reply == {
        **request.reply,
        "ttft_s": 0.25,
        "e2e_s": 2.5,
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }
    assert request.extra["session"] == ("talk" if layout == "trace" else "t")


def test_litellm_rows_that_the_logger_cut_are_never_replayed_as_if_whole(tmp_path):
    def row(id, tokens, prompt, **more):
        return {
            "request_id": id,
            "call_type": "acompletion",
            "startTime": "2026-04-10 10:00:00.000",
            "endTime": "2026-04-10 10:00:02.000",
            "prompt_tokens": tokens,
            "completion_tokens": 7,
            "model": "m",
            "messages": prompt,
            "response": {},
            **more,
        }

    mark = (
        "A" * 99 + "... (litellm_truncated skipped 40000 chars. Truncation is a DB storage safeguard.) ..." + "B" * 99
    )
    rows = [
        row("whole", 5, chat("q")["messages"]),
        row("marked", 10873, {}, proxy_server_request=chat(mark)),
        row("short", 9000, chat("too short for it")["messages"]),
        row("e", 4, [], call_type="aembedding"),
        row("table", 5, {}, proxy_server_request=chat("from the proxy", user="marta")),
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert report.format == "litellm" and ids(loaded) == ["whole", "table"]
    assert report.skipped["the prompt was cut by the logger"][0] == 2
    assert loaded.requests[0].body["max_tokens"] == 7 and loaded.requests[0].reply["e2e_s"] == 2.0
    assert loaded.requests[1].redacted == ("user",)


def test_vllm_log_joins_lines_by_id_and_reads_prompts_by_their_quoting(tmp_path):
    def log(day, at, message, level="DEBUG"):
        return f"\x1b[36m(APIServer pid=1)\x1b[0m {level} {day} {at} [entrypoints/request_logger.py:74] {message}"

    tricky = "it's \"here\"', params: SamplingParams(max_tokens=999), prompt_token_ids: [9]\n\\end"
    params = "params: SamplingParams(n=1, temperature=0.5, seed=None, max_tokens=64, min_tokens=0), lora_request: None."
    rows = [
        log("12-31", "23:59:58", f"Request 1 JSON body: {json.dumps(chat('q', user='marta'))}"),
        log("12-31", "23:59:58", f"Received request chatcmpl-1: {params}", "INFO"),
        'INFO:     127.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        log(
            "12-31",
            "23:59:59",
            "Request cmpl-2 details: prompt: None, prompt_token_ids: [5, 6, 7], prompt_embeds shape: None.",
        ),
        log("12-31", "23:59:59", f"Received request cmpl-2: {params}", "INFO"),
        log("01-01", "00:00:03", f"Received request cmpl-3: prompt: {tricky!r}, {params}", "INFO"),
        log("01-01", "00:00:04", f"Received request chatcmpl-4: {params}", "INFO"),
        log("01-01", "00:00:05", 'Request 5 JSON body: {"messages": [{"role": "us'),
        log(
            "01-01",
            "00:00:06",
            "Generated response chatcmpl-1 (streaming complete): output: 'ok', finish_reason: stop",
            "INFO",
        ),
    ]
    loaded, report = imported(lines(tmp_path / "f.log", *rows))
    assert report.format == "vllm-log" and times(loaded) == [0, 1, 5] and report.read == 5
    chatted, by_ids, by_text = loaded.requests
    assert said(chatted) == ["q"] and "user" not in chatted.body and "text_sha256" in chatted.reply
    assert by_ids.body == {"prompt": [5, 6, 7], "temperature": 0.5, "max_tokens": 64, "n": 1, "min_tokens": 0}
    assert by_text.body["prompt"] == tricky and by_text.body["max_tokens"] == 64
    assert {"the body was cut by --max-log-len"} < set(report.skipped)
    assert loaded.header["captured_at"] is None


OLD = "Received request cmpl-1-0: prompt: 'one', prefix_pos: None,sampling_params: SamplingParams(n=1, max_tokens=64), "
LAYOUTS = {
    "0.3": f"INFO 03-18 14:46:40 async_llm_engine.py:436] {OLD}prompt_token_ids: [1, 2], lora_request: None.",
    "0.6": "INFO 03-18 14:46:40 logger.py:37] Received request chatcmpl-1: prompt: 'one', params: SamplingParams(n=1, "
           "max_tokens=64), prompt_token_ids: None, lora_request: None, prompt_adapter_request: None.",
}  # fmt: skip


@pytest.mark.parametrize("before", ["", "vllm-1  | ", "2025-03-18T14:46:40.123456789Z ", "(Worker pid=7) "])
@pytest.mark.parametrize("version", LAYOUTS)
def test_vllm_logs_of_other_versions_and_through_containers(tmp_path, version, before):
    start = [f"{before}INFO 03-18 14:46:01 api_server.py:1] {'starts ' * 14}"] * 1200  # more than is looked at first
    loaded, report = imported(lines(tmp_path / "f.log", *start, before + LAYOUTS[version]))
    assert report.format == "vllm-log" and report.read == 1
    assert loaded.requests[0].body["prompt"] == "one" and loaded.requests[0].body["max_tokens"] == 64


def test_a_vllm_log_without_requests_says_what_to_start_vllm_with(tmp_path):
    path = lines(tmp_path / "f.log", "INFO 03-18 14:46:40 [api_server.py:1] Starting vLLM API server")
    with pytest.raises(VtuneError, match="--enable-log-requests"):
        imported(path)
