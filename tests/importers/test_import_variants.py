"""Files as their producers also write them: other encodings, separators, wrappers, names of columns and keys."""

import csv
import gzip
import io
import json
import tarfile
import time

import pytest
from made_imports import batch, chat, ids, imported, lines, said, times

from tui.errors import VtuneError
from tui.traffic import convert, recording
from tui.traffic.importers import Options, import_file, source

ROWS = [batch("a", 0.5), batch("b", 1.5), batch("c", 2.5)]
TEXTS = [json.dumps(row) for row in ROWS]
WRITTEN = {
    "one after another on a line": "".join(TEXTS).encode(),
    "carriage returns": "\r".join(TEXTS).encode(),
    "UTF-16 without a mark": "\n".join(TEXTS).encode("utf-16-le"),
    "big-endian UTF-16 without a mark": "\n".join(TEXTS).encode("utf-16-be"),
    "UTF-32": "\n".join(TEXTS).encode("utf-32"),
    "an answer's data": json.dumps({"object": "list", "data": ROWS, "has_more": False}).encode(),
    "an answer's data, written out": json.dumps({"data": ROWS, "meta": {"page": 1}}, indent=2).encode(),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_rows_are_found_however_they_are_written(tmp_path, written):
    path = tmp_path / "rows.json"
    path.write_bytes(WRITTEN[written])
    loaded, report = imported(path)
    assert ids(loaded) == ["a", "b", "c"] and report.read == 3


def test_a_comma_behind_each_object_costs_its_line_alone(tmp_path):
    _, report = imported(lines(tmp_path / "rows.jsonl", TEXTS[0] + ",", TEXTS[1] + ",", TEXTS[2]))
    assert (report.read, report.kept) == (3, 1)
    assert report.skipped["not JSON: a comma behind the object"][0] == 2


def test_a_line_of_many_pieces_is_put_together_once(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_CHUNK", 64)
    path = lines(tmp_path / "long.jsonl", batch("long", 0, chat("word " * 400_000)), batch("b", 1))
    start = time.perf_counter()
    assert [len(line) > 1_000_000 for _, line, _ in source.Source(path).lines()] == [True, False]
    assert time.perf_counter() - start < 10  # joined anew for each piece, it takes minutes


AZURE = (("TIMESTAMP", "ContextTokens", "GeneratedTokens"), ("2023-11-16 18:17:03.9799600", "48", "10"))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("names", [AZURE[0], ("timestamp", "context_tokens", "generated_tokens")])
@pytest.mark.parametrize("end", ["", "extra"])
def test_tables_with_other_separators_names_and_a_last_empty_cell(tmp_path, mark, names, end):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(mark.join(row) + (mark if end and row is AZURE[1] else "") for row in (names, AZURE[1])))
    loaded, report = imported(path)
    assert report.format == "azure" and len(loaded.requests[0].body["prompt"]) == 48


def test_cells_are_long_and_keep_their_line_ends(tmp_path):
    prompt = "one\r\ntwo\n\0three " + "word " * 50_000
    with (tmp_path / "p.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("prompt", "output_tokens_count"), (prompt, 5)])
    loaded, report = imported(tmp_path / "p.csv")
    assert report.format == "guidellm" and said(loaded.requests[0]) == [prompt]
    assert loaded.requests[0].body["max_tokens"] == 5


def table(path, *rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows)
    path.write_text(text.getvalue())
    return path


BUCKET = {
    "id": "g", "trace_id": "t", "type": "GENERATION", "start_time": "2026-01-01 00:00:00.000000",
    "end_time": "2026-01-01 00:00:02.500000", "completion_start_time": "2026-01-01 00:00:00.500000",
    "provided_model_name": "m", "model_parameters": '{"max_tokens": 64}', "usage_details": {"input": 9, "output": 2},
    "input": json.dumps(chat("q")["messages"]), "output": '{"role": "assistant", "content": "ok"}', "session_id": "s",
}  # fmt: skip


@pytest.mark.parametrize("write", [lines, table])
def test_langfuse_s_export_to_a_bucket(tmp_path, write):
    loaded, report = imported(write(tmp_path / "observations", BUCKET))
    (request,) = loaded.requests
    assert report.format == "langfuse" and request.body == {**chat("q"), "max_tokens": 64}
    assert (request.reply["ttft_s"], request.reply["e2e_s"], request.extra["session"]) == (0.5, 2.5, "s")


def test_litellm_logs_the_text_of_a_completion_as_a_message(tmp_path):
    row = {"request_id": "x", "call_type": "atext_completion", "startTime": 1767225600.5, "endTime": 1767225601.5,
           "messages": [{"role": "user", "content": "once upon"}], "model": "m", "completion_tokens": 3}  # fmt: skip
    path = tmp_path / "spend.json"
    path.write_text(json.dumps({"data": [row, {**row, "messages": "raw"}], "total": 2}))
    loaded, report = imported(path)
    assert report.format == "litellm" and [r.body["prompt"] for r in loaded.requests] == ["once upon", "raw"]


def test_a_har_with_more_beside_its_log(tmp_path):
    entry = {"startedDateTime": "2026-01-01T00:00:00Z", "request": {"method": "POST", "url": "http://h/v1/completions",
             "postData": {"text": '{"prompt": "p", "max_tokens": 2}'}}}  # fmt: skip
    path = lines(tmp_path / "x.har", {"_meta": {"by": "x"}, "log": {"entries": [entry]}})
    assert imported(path)[1].format == "har"


def test_a_recording_that_lost_its_first_line(tmp_path):
    rows = [{"id": f"r{n}", "at": n, "path": "/v1/chat/completions", "body": chat()} for n in range(2)]
    loaded, report = imported(lines(tmp_path / "tail.jsonl", *rows))
    assert report.format == "vtune" and times(loaded) == [0, 1]


def test_conversations_of_other_data_sets_are_not_sent_with_their_answers(tmp_path):
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    loaded, report = imported(lines(tmp_path / "lmsys.jsonl", {"conversation_id": "x", "conversation": turns}))
    assert report.format == "sharegpt" and [said(r) for r in loaded.requests] == [["q"]]
    loaded, report = imported(lines(tmp_path / "chat.jsonl", {"prompt_id": "x", "messages": turns}))
    assert report.format == "openai-finetune" and [said(r) for r in loaded.requests] == [["q"]]
    loaded, report = imported(lines(tmp_path / "old.jsonl", {"prompt": "p", "completion": "four letters"}))
    assert report.format == "prompts" and loaded.requests[0].body == {"prompt": "p", "max_tokens": 3}


def test_anthropic_s_system_text_is_not_left_behind(tmp_path):
    path = lines(tmp_path / "a.jsonl", {**chat("q"), "system": "be brief"}, chat("q"))
    loaded, report = imported(path)
    assert len(loaded.requests) == 1 and "Anthropic" in next(iter(report.skipped))


@pytest.mark.parametrize(("step", "unit", "span"), [(3000.5, "ms", 6.001), (0.5, "s", 1.0), (3000, "ms", 6.0)])
@pytest.mark.parametrize("tokens", [16, 512])
def test_the_unit_of_a_trace_of_hash_ids(tmp_path, step, unit, span, tokens):
    rows = [{"timestamp": n * step, "input_length": 3 * tokens - 5, "output_length": 5, "hash_ids": [0, 1, 2 + n]}
            for n in range(3)]  # fmt: skip
    _, report = imported(lines(tmp_path / "t.jsonl", *rows))
    assert (report.time["unit"], report.time["span_s"]) == (unit, span)


def test_a_text_part_without_its_text_is_no_prompt(tmp_path):
    parts = ([{"type": "text", "text": "q"}], [{"type": "text"}], [{"type": "text", "text": 5}])
    rows = [batch(str(n), n, {"messages": [{"role": "user", "content": part}]}) for n, part in enumerate(parts)]
    loaded, report = imported(lines(tmp_path / "p.jsonl", *rows))
    assert ids(loaded) == ["0"] and report.skipped["a text part without its text"][0] == 2


NAMED = {
    "Responses API": {"model": "m", "input": "hi", "max_output_tokens": 5},
    "embeddings": {"model": "m", "input": ["hi"], "encoding_format": "float"},
    "Anthropic message batch": {"custom_id": "a", "params": chat()},
    "Gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "Text Generation Inference": {"inputs": "hi", "parameters": {"max_new_tokens": 5}},
    "without their requests": {"id": "chatcmpl-1", "object": "chat.completion", "choices": []},
    "LangSmith": {"id": "x", "run_type": "llm", "inputs": {}, "outputs": {}},
    "Jaeger": {"data": [{"traceID": "a", "spans": []}]},
    "Zipkin": {"traceId": "a", "id": "b", "timestamp": 1, "duration": 2},
    "OpenTelemetry metrics": {"resourceMetrics": []},
    "Docker's JSON log": {"log": "INFO x\n", "stream": "stderr", "time": "2026-01-01T00:00:00Z"},
    "guidellm report": {"benchmarks": []},
    "a result of vllm bench": {"backend": "vllm", "num_prompts": 2, "ttfts": []},
    "preferences": {"input": {}, "preferred_output": [], "non_preferred_output": []},
    "VCR": {"version": 1, "interactions": []},
    "Langfuse traces": {"id": "t", "timestamp": "x", "sessionId": "s", "userId": "u", "input": "q"},
    "access log": b'127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 200 123',
    "goreplay": "🐵🙈🙉",
    "SQL dump": b"-- PostgreSQL database dump",
}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_known_and_not_read_is_refused_by_its_name(tmp_path, name):
    with pytest.raises(VtuneError, match=name):
        imported(lines(tmp_path / "f", NAMED[name]))


def test_the_file_that_is_read_is_never_replaced(tmp_path):
    path = lines(tmp_path / "rows.jsonl", *ROWS)
    before = path.read_bytes()
    with pytest.raises(VtuneError, match="the file that is read"):
        import_file(path, path, Options(), force=True)
    import_file(path, out := tmp_path / "out.jsonl", Options())
    with pytest.raises(VtuneError, match="the file that is read"):
        convert.convert(recording.load(out), "aiperf", out, force=True)
    assert path.read_bytes() == before


def test_archives_are_refused_by_their_names(tmp_path):
    with tarfile.open(tmp_path / "f.tar.gz", "w:gz") as archive:
        archive.add(lines(tmp_path / "f.jsonl", *ROWS), "f.jsonl")
    with pytest.raises(VtuneError, match="tar archive"):
        imported(tmp_path / "f.tar.gz")
    (tmp_path / "twice.gz").write_bytes(gzip.compress(gzip.compress(b"{}")))
    with pytest.raises(VtuneError, match="compressed twice"):
        imported(tmp_path / "twice.gz")
    with pytest.raises(VtuneError) as refusal:
        imported(tmp_path)
    assert refusal.value.mend == "give one of the files in it"
