"""What happens to rows that are odd, broken, secret or twice there, and to files that are."""

import gzip
import json
import subprocess
import sys

import pytest
from made_imports import batch, chat, ids, imported, lines

from tui.cli import main
from tui.errors import VtuneError
from tui.traffic import compressed, recording
from tui.traffic.importers import Options, import_file


def test_a_mark_crlf_and_blank_lines_are_no_rows(tmp_path):
    path = tmp_path / "f.jsonl"
    rows = [json.dumps(batch(name, n * 100), ensure_ascii=False).encode() for n, name in enumerate("abc")]
    path.write_bytes(b"\xef\xbb\xbf" + rows[0] + b"\r\n\r\n  \t\r\n" + rows[1] + b"\r\n" + rows[2])
    loaded, report = imported(path)
    assert ids(loaded) == ["a", "b", "c"] and report.read == 3


def test_utf16_is_read_by_its_mark_and_latin1_only_when_named(tmp_path):
    text = "".join(json.dumps(batch(f"r{n}", n, chat(f"café {n}")), ensure_ascii=False) + "\n" for n in range(3))
    wide, narrow = tmp_path / "wide.jsonl", tmp_path / "narrow.jsonl"
    wide.write_bytes(text.encode("utf-16"))
    narrow.write_bytes(text.encode("latin-1"))
    assert imported(wide)[0].requests[2].body["messages"][0]["content"] == "café 2"
    with pytest.raises(VtuneError, match="not UTF-8: line 1, byte") as caught:
        imported(narrow)
    assert "--encoding" in caught.value.mend
    assert imported(narrow, encoding="latin-1")[0].requests[0].body["messages"][0]["content"] == "café 0"


def test_a_torn_tail_is_a_note_and_a_fused_line_costs_itself_alone(tmp_path):
    cut = json.dumps(batch("t3", 300, chat("東京")), ensure_ascii=False).encode()
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(
        b"".join(json.dumps(batch(f"t{n}", n)).encode() + b"\n" for n in range(3)) + cut[: cut.index(b"\xe4") + 1]
    )
    loaded, report = imported(torn)
    assert ids(loaded) == ["t0", "t1", "t2"] and report.read == 3
    assert any("1 record dropped" in note for note in report.notes)
    with pytest.raises(VtuneError, match="torn.jsonl:4"):
        imported(torn, strict=True)
    fused = cut[: cut.index(b"\xe4") + 1] + json.dumps(batch("lost", 1)).encode()
    loaded, report = imported(lines(tmp_path / "fused.jsonl", batch("a", 0), fused, batch("b", 2)))
    assert ids(loaded) == ["a", "b"] and report.read == 3


def test_every_bad_line_has_a_reason_of_its_own(tmp_path):
    good, comma = batch("good", 0), json.dumps(batch("x", 1))[:-1] + ",}"
    path = lines(tmp_path / "f.jsonl", good, comma, "{'custom_id': 'py'}", "null", "[1, 2]", '"hello"', "42", "// no",
                 {"custom_id": "nobody", "timestamp": 1}, batch("text", 2, json.dumps(chat())))  # fmt: skip
    loaded, report = imported(path)
    assert ids(loaded) == ["good", "text"] and report.read == 10
    assert len(report.skipped) == 8
    assert all(count == 1 and examples[0].startswith("f.jsonl:") for count, examples in report.skipped.values())
    with pytest.raises(VtuneError, match="f.jsonl:2: "):
        imported(path, strict=True)


def test_a_key_given_twice_is_only_a_fault_in_strict_mode(tmp_path):
    twice = json.dumps(batch("d", 1)).replace('"method"', '"timestamp": 9, "method"')
    path = lines(tmp_path / "f.jsonl", batch("a", 0), twice)
    assert imported(path)[1].kept == 2
    with pytest.raises(VtuneError, match="'timestamp' comes twice"):
        imported(path, strict=True)


@pytest.mark.parametrize("layout", ["array", "pretty array", "pretty objects"])
def test_json_that_is_not_one_object_a_line_is_read_too(tmp_path, layout):
    rows = [batch(f"r{n}", n, chat('a {[ " }')) for n in range(5)]
    text = {
        "array": json.dumps(rows),
        "pretty array": json.dumps(rows, indent=2),
        "pretty objects": "\n".join(json.dumps(row, indent=2) for row in rows),
    }[layout]
    path = tmp_path / "f.json"
    path.write_text(text)
    assert ids(imported(path)[0]) == [f"r{n}" for n in range(5)]


def test_text_is_never_changed_and_what_is_not_unicode_never_sent(tmp_path):
    words = ["a\x85b\u2028c\u2029d", "cafe\u0301", "caf\xe9", "\ufeffhello", "a\x00b", "\U0001f468\u200d\U0001f469"]
    rows = [batch(f"r{n}", n, chat(word)) for n, word in enumerate(words)]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows, batch("lone", 9, chat("\ud83d"))))
    assert [r.body["messages"][0]["content"] for r in loaded.requests] == words
    assert [count for reason, (count, _) in report.skipped.items() if "surrogate" in reason] == [1]


def test_images_are_skipped_by_kind_and_parts_of_text_stay_parts(tmp_path):
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    image = [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, {"type": "text", "text": "?"}]
    audio = [{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]
    rows = [
        batch(name, n, chat(content)) for n, (name, content) in enumerate([("t", parts), ("i", image), ("s", audio)])
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert ids(loaded) == ["t"] and loaded.requests[0].body["messages"][0]["content"] == parts
    assert {reason.split(":")[0] for reason in report.skipped} == {"not text"} and len(report.skipped) == 2


def test_null_content_and_tools_stay_as_they_are(tmp_path):
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
                {"role": "tool", "tool_call_id": "c", "content": "{cut"}, {"role": "assistant"}]  # fmt: skip
    body = {"messages": messages, "tools": [{"type": "function"}], "cache_salt": "s", "documents": [1], "max_tokens": 3}
    loaded, _ = imported(lines(tmp_path / "f.jsonl", batch("a", 0, body)))
    assert loaded.requests[0].body == body


def test_calls_that_make_no_text_are_skipped_and_the_path_is_matched_at_its_end(tmp_path):
    rows = [
        batch("gateway", 0, url="https://u:p@host.invalid/openai/deployments/d/chat/completions?api-version=1"),
        batch("embedding", 1, {"input": "x"}, url="/v1/embeddings"),
        batch("get", 2, method="GET"),
        batch("two", 3, {"prompt": ["one", "two"], "max_tokens": 1}, url="/v1/completions"),
        batch("tokens", 4, {"prompt": [1, 2, 3], "max_tokens": 1}, url="/v1/completions"),
        batch("float ids", 5, {"prompt": [1.5, 2], "max_tokens": 1}, url="/v1/completions"),
        batch("nothing", 6, {"prompt": "", "max_tokens": 1}, url="/v1/completions"),
        batch("text limit", 7, chat(max_tokens="16")),
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert ids(loaded) == ["gateway", "two.1", "two.2", "tokens"]
    assert [r.path for r in loaded.requests] == ["/v1/chat/completions", *["/v1/completions"] * 3]
    assert "host.invalid" not in (tmp_path / "f.jsonl.imported.jsonl").read_text()
    assert report.read == 9


def test_a_limit_comes_from_the_recorded_answer_else_it_is_a_cap_that_is_named(tmp_path):
    known = {
        "status_code": 200,
        "body": {"choices": [{"message": {"content": "ok"}}], "usage": {"completion_tokens": 17}},
    }
    rows = [
        batch("known", 0, {"messages": chat()["messages"]}, response=known),
        batch("none", 1, {"messages": chat()["messages"]}),
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert [r.body["max_tokens"] for r in loaded.requests] == [17, 256]
    assert loaded.requests[0].reply["usage"] == {"completion_tokens": 17}
    assert any("capped at 256" in note for note in report.all_notes())


SECRETS = ("sk-FAKE0000000000000000", "dXNlcjpub3QtYS1wYXNz", "session=NOTREAL", "hunter2hunter2")


def secret_rows():
    headers = {"Authorization": f"Bearer {SECRETS[0]}", "authorization": f"Basic {SECRETS[1]}", "Cookie": SECRETS[2]}
    return [
        batch("headers", 0, url=f"/v1/chat/completions?api_key={SECRETS[3]}", headers=headers),
        batch("body", 1, chat(user="marta@example.invalid", metadata={"token": SECRETS[0]}, extra_headers=headers)),
        batch("same key", 2, chat(f"my key is {SECRETS[0]}")),
        batch("another key", 3, chat("the AWS one is AKIAFAKEFAKEFAKE0000, mail marta.keller@example.invalid")),
        batch("prose", 4, chat('What does "Authorization: Bearer <token>" mean?')),
    ]


def test_credentials_never_reach_the_recording_and_key_like_text_is_counted(tmp_path, capsys):
    path, out = lines(tmp_path / "f.jsonl", *secret_rows()), tmp_path / "out.jsonl"
    assert main(["import", str(path), "-o", str(out), "--json", str(tmp_path / "report.json")]) == 0
    told = capsys.readouterr()
    everything = out.read_text() + (tmp_path / "report.json").read_text() + told.out + told.err
    assert not [secret for secret in SECRETS if secret in everything]
    assert "AKIA" not in told.out and "2 x text that looks like a key" in told.out and "1 x mail address" in told.out
    rows = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    assert [row["id"] for row in rows] == ["headers", "body", "another key", "prose"]
    assert rows[1]["redacted"] == ["user", "metadata", "extra_headers"] and "user" not in rows[1]["body"]
    assert out.stat().st_mode & 0o777 == 0o600


def test_secrets_are_masked_only_when_asked_at_equal_length(tmp_path):
    path = lines(tmp_path / "f.jsonl", *secret_rows())
    loaded, _ = imported(path, mask_secrets=True)
    words = {r.id: r.body["messages"][0]["content"] for r in loaded.requests}
    assert words["same key"] == f"my key is {'x' * len(SECRETS[0])}" and "AKIA" not in words["another key"]
    assert "<token>" in words["prose"]


def test_copies_failures_and_ids_that_come_twice(tmp_path):
    failed = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
    rows = [batch("a", 0), batch("a", 0), batch("b", 1, response=failed, error=None), batch("c", 2)]
    path = lines(tmp_path / "f.jsonl", *rows)
    loaded, report = imported(path)
    assert ids(loaded) == ["a", "a~2", "b", "c"]
    assert any("1 x failed when recorded" in note for note in report.all_notes())
    assert ids(imported(path, dedupe=True)[0]) == ["a", "b", "c"]
    assert ids(imported(path, drop_failed=True)[0]) == ["a", "a~2", "c"]


def test_limit_and_sample_keep_sessions_whole(tmp_path):
    rows = [batch(f"r{n}", n, session_id=f"s{n % 4}") for n in range(12)]
    path = lines(tmp_path / "f.jsonl", *rows)
    loaded, report = imported(path, limit=7)
    assert ids(loaded) == ["r0", "r1", "r4", "r5", "r8", "r9"] and report.read == 12
    drawn = imported(path, sample=6)[0]
    assert sorted(ids(drawn)) == sorted(ids(imported(path, sample=6)[0])) and len(drawn.requests) == 6
    sessions = [r.extra["session"] for r in drawn.requests]
    assert all(sessions.count(session) == 3 for session in sessions)


def test_a_cut_archive_keeps_what_came_before(tmp_path):
    rows = b"".join(
        json.dumps(batch(f"r{n}", n, chat(f"{n * 7919 % 10007} {n * 104729 % 99991}"))).encode() + b"\n"
        for n in range(500)
    )
    path = tmp_path / "f.jsonl.gz"
    path.write_bytes(gzip.compress(rows[:9000]) + gzip.compress(rows[9000:]))  # as `cat a.gz b.gz` makes
    assert imported(path)[1].read == 500
    path.write_bytes(gzip.compress(rows)[:-700])
    loaded, report = imported(path)
    assert 10 < len(loaded.requests) < 500
    assert any("damaged or cut" in note for note in report.notes)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.zip", b"PK\x03\x04....", "zip"),
        ("a.parquet", b"PAR1....", "Parquet"),
        ("a.yaml", b"interactions:\n- request:\n    body: '{}'\n", "VCR"),
        (
            "a.gor",
            b'1 000000000000000000abc000 1729072359118000128 0\nPOST /v1/completions HTTP/1.1\r\n\r\n{"prompt": "x"}\n',
            "goreplay",
        ),
        ("a.csv", b"33000,0,0,,0,0\r\n36000,1.6,1.4,Gamma,0.47,0.98\r\n", "ServeGen"),
        ("b.csv", b"name,age\nx,1\n", "no format"),
        (
            "out.jsonl",
            b'{"id": "b", "custom_id": "c", "response": {"status_code": 200}, "error": null}\n',
            "Batch output",
        ),
        ("e.jsonl", b"\n \n", "empty"),
        ("t.md", b"# A title\n\nwords\n", "text document"),
        ("h.har", b'{"log": {"entries": []}}', "no requests"),
    ],
)
def test_what_is_not_imported_is_refused_with_its_reason(tmp_path, capsys, name, content, word):
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["import", str(path), "-o", str(tmp_path / "o.jsonl")]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert word in error[0] and len(error) == 2
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("xdg")) == [name]


def test_an_existing_recording_stays_without_force_and_nothing_half_is_left(tmp_path, capsys):
    path, out = lines(tmp_path / "f.jsonl", batch("a", 0)), tmp_path / "o.jsonl.gz"
    assert main(["import", str(path), "-o", str(out)]) == 0
    before = out.read_bytes()
    assert main(["import", str(path), "-o", str(out)]) == 2
    assert out.read_bytes() == before and gzip.decompress(before).count(b"\n") == 2
    lines(path, batch("b", 0), "{broken}")
    assert main(["import", str(path), "-o", str(out), "--force", "--strict"]) == 2
    assert out.read_bytes() == before
    capsys.readouterr()
    assert main(["import", str(path), "-o", str(out), "--force", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "vtune.import/1" and (told["read"], told["kept"]) == (2, 1)
    assert told["skipped"][0]["examples"][0].startswith("f.jsonl:2: ")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_zstandard_is_read_and_written(tmp_path):
    if sys.version_info < (3, 14):
        pytest.importorskip("zstandard", reason="zst needs Python 3.14 or zstandard")
    rows = b"".join(json.dumps(batch(f"r{n}", n, chat("word " * 50))).encode() + b"\n" for n in range(300))
    path, out = tmp_path / "f.jsonl.zst", tmp_path / "o.jsonl.zst"
    path.write_bytes(compressed.pack(path, rows))
    assert import_file(path, out, Options()).kept == 300
    assert out.stat().st_size < len(rows) / 5
    assert len(recording.load(out).requests) == 300


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_does_not_grow_with_the_prompts(tmp_path):
    # Not getrusage: its peak includes that of the process that forked.
    path = tmp_path / "big.jsonl"
    with path.open("w") as file:
        for number in range(1600):
            file.write(json.dumps(batch(f"r{number}", number, chat(f"{number} " * 12_000))) + "\n")
    assert path.stat().st_size > 80e6
    script = (
        "from pathlib import Path; from tui.traffic.importers import Options, import_file; "
        f"import_file(Path({str(path)!r}), Path({str(tmp_path / 'o.jsonl')!r}), Options()); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) * 1024 < 80e6
