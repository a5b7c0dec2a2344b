"""Recorded HTTP: HAR files and mitmproxy flows."""

import base64
import json

from made_imports import chat, imported, said, times

ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}
URL = "https://h.invalid/v1/chat/completions?key=sk-FAKE99999999999999"


def har_entry(
    method="POST",
    url=URL,
    sent=None,
    answer=None,
    at="00",
    **response,
):
    content = {"text": base64.b64encode(answer.encode()).decode(), "encoding": "base64"} if answer else {"size": 0}
    return {
        "startedDateTime": f"2026-01-01T00:00:{at}.000Z",
        "time": 900.0,
        "timings": {"blocked": -1, "send": 1.0, "wait": 99.0, "receive": 800},
        "request": {
            "method": method,
            "url": url,
            "headers": [["Authorization", "Bearer sk-FAKE99999999999999"]],
            "postData": {"mimeType": "application/json", "text": json.dumps(sent) if sent else ""},
        },
        "response": {"status": 200, "content": content, **response},
    }


def test_har_keeps_calls_that_make_text_and_drops_the_rest_by_reason(tmp_path):
    chunks = [json.dumps({"choices": [{"delta": {"content": letter}}]}) for letter in "ok"]
    stream = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])
    entries = [
        har_entry("OPTIONS"),
        har_entry("GET"),
        har_entry(url="https://h.invalid/login", sent={"a": 1}),
        har_entry(sent=None),
        har_entry(sent=chat("x"), answer=stream, at="05"),
        har_entry(sent=chat("y"), at="07"),
        har_entry(sent=chat("z"), at="09", status=0),
    ]
    path = tmp_path / "a.har"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1).encode())
    loaded, report = imported(path)
    assert report.format == "har" and report.read == 7 and len(report.skipped) == 4
    assert times(loaded) == [0, 2, 4]
    first = loaded.requests[0]
    assert first.reply["ttft_s"] == 0.1 and first.reply["e2e_s"] == 0.9 and "usage" not in first.reply
    assert "text_sha256" in first.reply and "text_sha256" not in loaded.requests[1].reply
    assert "FAKE" not in (tmp_path / "a.har.imported.jsonl").read_text()
    assert len(imported(path, drop_failed=True)[0].requests) == 2


def tnet(value):
    if value is None:
        return b"0:~"
    if isinstance(value, bool):
        kind, raw = b"!", b"true" if value else b"false"
    elif isinstance(value, bytes):
        kind, raw = b",", value
    elif isinstance(value, str):
        kind, raw = b";", value.encode()
    elif isinstance(value, (int, float)):
        kind, raw = (b"#" if isinstance(value, int) else b"^"), str(value).encode()
    elif isinstance(value, dict):
        kind, raw = b"}", b"".join(tnet(k) + tnet(v) for k, v in value.items())
    else:
        kind, raw = b"]", b"".join(tnet(item) for item in value)
    return str(len(raw)).encode() + b":" + raw + kind


def flow(at, sent, path=b"/v1/chat/completions", method=b"POST"):
    return {
        "type": "http",
        "version": 21,
        "request": {
            "method": method,
            "path": path,
            "headers": [[b"content-type", b"application/json"], [b"Cookie", b"session=NOTREAL"]],
            "content": sent,
            "timestamp_start": at,
            "timestamp_end": at + 0.1,
        },
        "response": {
            "status_code": 200,
            "headers": [],
            "content": json.dumps(ANSWER).encode(),
            "timestamp_start": at + 0.25,
            "timestamp_end": at + 1.5,
        },
    }


def test_mitmproxy_flows_are_read_one_by_one_and_a_cut_one_is_counted(tmp_path):
    body = json.dumps(chat("東京")).encode()
    flows = [
        flow(1729072359.5, body),
        flow(1729072360.0, b"", b"/", b"GET"),
        {"type": "tcp", "error": None},
        flow(1729072363.5, None),
    ]
    path = tmp_path / "f.mitm"
    path.write_bytes(b"".join(tnet(f) for f in [*flows, flow(1729072364.5, body)]) + tnet(flow(1.0, body))[:-40])
    loaded, report = imported(path)
    assert report.format == "mitmproxy" and times(loaded) == [0, 5] and report.read == 6
    assert said(loaded.requests[0]) == ["東京"]
    assert loaded.requests[0].reply == {
        **loaded.requests[0].reply,
        "ttft_s": 0.25,
        "e2e_s": 1.5,
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }
    assert any("cut" in e for _, examples in report.skipped.values() for e in examples)
    assert "NOTREAL" not in (tmp_path / "f.mitm.imported.jsonl").read_text()
