"""The file: what a crash, a full disk, a second recorder and a second run leave of it."""

import errno
import json
import os
import resource
import signal
import stat

import pytest
from standin.fixture import serving
from upstreams import chat, post, recording, rows, talk

from tui.errors import VtuneError
from tui.traffic.recorder.recordfile import RecordFile
from tui.traffic.recording import Request, load

HEADER = {"name": "made", "synthetic": False}


def request(file, at=0.0, words="hi", **more):
    return Request(file.next_id(), at, "/v1/completions", {"prompt": words}, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made.jsonl"


def test_one_write_a_request_and_each_leaves_a_sound_recording(path):
    writes = []

    def write(fd, data):
        writes.append(data)
        return os.write(fd, data)

    file = RecordFile(path, HEADER, write=write)
    for number in range(3):
        assert file.add(request(file, number, "x" * 100_000))
        assert len(load(path).requests) == number + 1
    file.close()
    assert len(writes) == 4 and all(data.endswith(b"\n") for data in writes)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_file_is_refused_or_replaced_by_the_first_request(path):
    path.write_text("precious")
    with pytest.raises(VtuneError, match="exists"):
        RecordFile(path, HEADER)
    file = RecordFile(path, HEADER, force=True)
    assert path.read_text() == "precious"
    file.close()
    assert path.read_text() == "precious" and os.listdir(path.parent) == [path.name]
    file = RecordFile(path, HEADER, force=True)
    file.add(request(file))
    assert len(load(path).requests) == 1 and os.listdir(path.parent) == [path.name]
    file.close()


def started(path, count=2):
    file = RecordFile(path, HEADER)
    for number in range(count):
        file.add(request(file, number, reply={"e2e_s": 0.5}))
    file.close()


@pytest.mark.parametrize("cut", range(1, 92, 7))
def test_a_line_that_was_cut_is_removed_and_recording_goes_on(path, cut):
    started(path)
    whole = path.read_bytes()
    os.truncate(path, len(whole) - cut)
    lost = whole.count(b"\n") - path.read_bytes().count(b"\n")
    file = RecordFile(path, HEADER, append=True)
    if cut > 1:
        assert "cut" in file.healed
    assert file.add(request(file, file.offset_s))
    file.close()
    kept = load(path).requests
    # A last line that only lacks its newline is whole.
    assert len(kept) == 3 - (lost if cut > 1 else 0)
    assert len({r.id for r in kept}) == len(kept) and kept[-1].at > kept[-2].at


def test_going_on_begins_a_second_after_the_last_end(path):
    started(path)
    file = RecordFile(path, HEADER, append=True)
    assert file.offset_s == 1 + 0.5 + 1.0
    file.close()
    assert len(load(path).requests) == 2  # nothing was added: it stays as it was


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00", b'{"schema": "other"}\n', b"words\n"])
def test_only_a_plain_recording_can_be_continued(path, content):
    path.write_bytes(content)
    with pytest.raises(VtuneError):
        RecordFile(path, HEADER, append=True)
    assert path.read_bytes() == content


def test_a_damaged_recording_is_not_continued(path):
    started(path)
    damaged = path.read_bytes().replace(b'"id"', b'"ix"', 1)
    path.write_bytes(damaged)
    with pytest.raises(VtuneError, match=":2:"):
        RecordFile(path, HEADER, append=True)
    assert path.read_bytes() == damaged


def test_two_cannot_record_into_one_file(path):
    started(path)
    file = RecordFile(path, HEADER, append=True)
    with pytest.raises(VtuneError, match="another vtune"):
        RecordFile(path, HEADER, append=True)
    file.close()


@pytest.mark.parametrize("part", [0, 30])
def test_a_full_disk_ends_the_recording_at_a_whole_line(path, part):
    full = []

    def write(fd, data):
        if full:
            if not part:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.write(fd, data[:part])
        return os.write(fd, data)

    file = RecordFile(path, HEADER, write=write)
    assert file.add(request(file))
    full.append(True)
    assert not file.add(request(file)) and "No space left" in file.fault
    full.clear()
    assert not file.add(request(file))  # what comes later would follow a gap
    file.close()
    assert len(load(path).requests) == 1 and path.read_bytes().endswith(b"\n")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
async def test_a_full_disk_stops_recording_and_never_the_traffic(path):
    async with serving() as standin, recording(standin.url, path) as proxy:
        await talk(proxy.port, post(chat("small")))
        resource.prlimit(proxy.recorder.scribe_pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
        answers = [await talk(proxy.port, post(chat(" word" * 3000))) for _ in range(4)]
        assert all(answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"0\r\n\r\n") for answer in answers)
        recorded = await proxy.end()
    assert recorded.kept == 2 and sum(recorded.skipped.values()) == 3 and "disk" in next(iter(recorded.skipped))
    assert recorded.fault and any("recording stops here" in line for line in proxy.said)
    assert len(load(path).requests) == 2


async def test_the_death_of_the_process_that_writes_stops_recording_and_never_the_traffic(path):
    async with serving() as standin, recording(standin.url, path) as proxy:
        await talk(proxy.port, post(chat("small")))
        while not path.stat().st_size or len(path.read_bytes().splitlines()) < 2:
            await talk(proxy.port, b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
        os.kill(proxy.recorder.scribe_pid, signal.SIGKILL)
        for _ in range(3):
            answer = await talk(proxy.port, post(chat("hi")))
            assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"0\r\n\r\n")
        recorded = await proxy.end()
    assert recorded.fault and any("traffic goes on" in line for line in proxy.said)
    assert recorded.kept == 1 and recorded.passed == 1 + sum(recorded.skipped.values())
    assert len(load(path).requests) == 1


async def test_recording_goes_on_in_an_existing_file(path):
    for words in ("first", "second"):
        async with serving() as standin, recording(standin.url, path, append=True) as proxy:
            await talk(proxy.port, post(chat(words)))
            assert (await proxy.end()).kept == 1
    first, second = rows(path)
    assert [r["body"]["messages"][0]["content"] for r in (first, second)] == ["first", "second"]
    assert second["at"] == pytest.approx(first["reply"]["e2e_s"] + 1.0, abs=1e-5)
    assert json.loads(path.read_text().split("\n")[0])["source"].startswith("vtune record, in front of http")


async def test_a_file_that_cannot_be_written_is_refused_before_anything_is_served(tmp_path):
    with pytest.raises(VtuneError, match="no folder"):
        async with recording("http://127.0.0.1:9", tmp_path / "nowhere" / "made.jsonl"):
            pass
