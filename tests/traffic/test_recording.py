import gzip
import hashlib
import json
import sys

import pytest

from tui.errors import VtuneError
from tui.traffic import compressed, recording
from tui.traffic.recording import Request

HEADER = {"schema": "vtune.recording/1", "name": "made", "captured_at": "2026-01-01", "notes": "n", "synthetic": True}
ROW = {"id": "a", "at": 0, "path": "/v1/chat/completions", "body": {"messages": []}}


def write_lines(path, *rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_what_is_written_is_read_back_with_unknown_keys(tmp_path):
    requests = (
        Request("a", 0.0, "/v1/completions", {"prompt": "é\u2028\u0085 \U0001f600"}),
        Request("b", 1.5, "/v1/completions", {"prompt": "x"}, group="g", after="a", think_s=0.5, redacted=("user",),
                reply={"status": 200}, extra={"tenant": "t"}),
    )  # fmt: skip
    path = tmp_path / "r.jsonl"
    recording.write(path, {"name": "made", "source": "test", "synthetic": True}, requests)
    read = recording.load(path)
    assert read.requests == requests
    assert (read.name, read.synthetic, read.header["source"]) == ("made", True, "test")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_hash_is_of_the_uncompressed_whole_file_whatever_the_limit(tmp_path):
    plain = write_lines(tmp_path / "r.jsonl", HEADER, ROW, {**ROW, "id": "b"}, "\n")
    packed = tmp_path / "r.jsonl.gz"
    data = plain.read_bytes()
    packed.write_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]))  # two members, as `cat a.gz b.gz` makes
    expected = hashlib.sha256(data).hexdigest()
    loaded = [recording.load(plain), recording.load(packed), recording.load(plain, limit=1)]
    assert [r.sha256 for r in loaded] == [expected] * 3
    assert [r.id for r in recording.load(packed, limit=1).requests] == ["a"]


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.zst"])
def test_compressed_files_are_written_as_their_suffix_says(tmp_path, suffix):
    if suffix.endswith("zst") and sys.version_info < (3, 14):
        pytest.importorskip("zstandard", reason="zst needs Python 3.14 or zstandard")
    path = tmp_path / f"r{suffix}"
    recording.write(path, {"name": "made"}, [Request("a", 0.0, "/v1/completions", {"prompt": "x" * 5000})])
    assert path.stat().st_size < 2000
    assert recording.load(path).requests[0].body["prompt"] == "x" * 5000


def test_zst_without_a_library_names_the_mend(tmp_path, monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("Python 3.14 has it built in")
    path = tmp_path / "r.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(VtuneError) as caught:
        recording.load(path)
    assert "zstandard" in caught.value.mend


def test_a_bundled_name_is_found_and_an_unknown_one_names_what_exists(tmp_path, monkeypatch):
    monkeypatch.setenv("VTUNE_DATA", str(tmp_path))
    (tmp_path / "recordings").mkdir()
    write_lines(tmp_path / "recordings" / "mine.jsonl", HEADER, ROW)
    assert recording.load("mine").requests[0].id == "a"
    with pytest.raises(VtuneError) as caught:
        recording.load("mien")
    assert "mine" in caught.value.mend


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("{oops\n", "not JSON"),
        ("[1, 2]\n", "list"),
        ('{"id": "b", "at": NaN, "path": "/v1/completions", "body": {}}\n', "NaN"),
        ('{"id": "b", "at": 1e400, "path": "/v1/completions", "body": {}}\n', '"at"'),
        ({**ROW, "id": "b", "at": -1}, '"at"'),
        ({**ROW, "id": "b", "at": True}, '"at"'),
        ({**ROW, "id": "b", "at": "1"}, '"at"'),
        ({**ROW, "id": ""}, '"id"'),
        ({**ROW, "id": "b", "path": "v1/completions"}, '"path"'),
        ({**ROW, "id": "b", "path": "/v1 \r\nX: y"}, '"path"'),
        ({**ROW, "id": "b", "body": None}, '"body"'),
        ({**ROW, "id": "b", "think_s": -1}, '"think_s"'),
        ({**ROW, "id": "b", "redacted": "user"}, '"redacted"'),
        ({**ROW, "id": "b", "body": {"prompt": "\ud83d"}}, "surrogate"),
        ('{"id": "b", "at": 1, "path": "/x", "body": {"seed": 1e400}}\n', "beyond JSON"),
        (ROW, "twice"),
        ({**ROW, "id": "b", "after": "z"}, '"after"'),
    ],
)
def test_an_unsound_line_is_named_by_file_and_number(tmp_path, row, word):
    path = write_lines(tmp_path / "r.jsonl", HEADER, ROW, row)
    with pytest.raises(VtuneError) as caught:
        recording.load(path)
    assert f"{path}:3:" in caught.value.what
    assert word in caught.value.what
    assert caught.value.mend and "\n" not in caught.value.what + caught.value.mend


def test_latin1_is_refused_with_its_line_and_byte(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(json.dumps(HEADER).encode() + b'\n{"id": "b\xe9"}\n')
    with pytest.raises(VtuneError, match=":2: not UTF-8 at byte 9"):
        recording.load(path)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "empty"),
        (json.dumps(HEADER) + "\n\n", "no requests"),
        ('{"schema": "vtune.recording/2"}\n', "recording/2"),
        ('{"custom_id": "1"}\n', "not a vtune recording"),
    ],
)
def test_files_that_are_not_recordings_say_so(tmp_path, content, word):
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    with pytest.raises(VtuneError, match=word):
        recording.load(path)


def test_a_cut_archive_is_an_error_of_one_line(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    rows = [{**ROW, "id": f"r{i}", "body": {"prompt": hashlib.sha256(b"%d" % i).hexdigest()}} for i in range(2000)]
    data = "".join(json.dumps(row) + "\n" for row in (HEADER, *rows)).encode()
    path.write_bytes(compressed.pack(path, data)[:-2000])
    with pytest.raises(VtuneError, match="to its end"):
        recording.load(path)


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = write_lines(tmp_path / "r.jsonl", HEADER, ROW)
    with pytest.raises(VtuneError, match="exists"):
        recording.write(path, {"name": "other"}, [])
    assert recording.load(path).name == "made"
    recording.write(path, {"name": "other"}, recording.load(path).requests, force=True)
    assert recording.load(path).name == "other"
