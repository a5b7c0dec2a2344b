"""A journal cut at any byte opens, two writers do not mix, and folding the file gives the live state."""

import json
import os
import resource

import pytest

from tui.errors import VtuneError
from tui.session import journal, state
from tui.session.journal import Journal
from tui.session.state import State

TICK = {
    "at_s": 1.0, "total": 2, "sent": 1, "ok": 1, "failed": 0, "cancelled": 0, "running": 0, "waiting": 1,
    "content_chunks": 3, "output_tokens": 3, "max_lag_s": 0.001, "dropped": 0,
    "finished": [{"id": "a", "group": None, "status": "ok", "reuse": "cold", "at_s": 0.9, "ttft_s": 0.5}],
    "in_flight": [{"id": "b", "group": None, "due_s": 1.0, "sent_s": None, "first_s": None}],
}  # fmt: skip
SCRAPE = {"t": 10.0, "engines": {"0": {"running": 1, "prefix_queries": 0, "prefix_hits": 0, "kv_usage": 0.1}}}


def tell(journal: Journal, live: State) -> None:
    """A short session: an engine, a lever, a run with a tick and scrapes, its end."""

    def emit(kind: str, **values: object) -> None:
        live.apply(journal.append(kind, **values))

    emit("profile", name="demo", levers={"prefix-caching": "on"}, targets=[])
    emit("recording", name="r", sha256="0" * 64, requests=2)
    asked = {"prefix-caching": "on"}
    emit("launch", n=1, state="starting", argv=("python", "-m", "vllm"), asked=asked, log="engine-1.log")
    emit("phase", n=1, name="import")
    emit("phase", n=1, name="weights")
    emit("engine", n=1, state="warming", start_s=4.5, pid=7)
    emit("applied", n=1, levers={"prefix-caching": "on"}, vllm="0.32.0", block_size=128)
    emit("engine", n=1, state="ready")
    told = {"label": "baseline", "recording": {"name": "r"}, "file": "run-1.jsonl"}
    emit("run", n=1, engine=1, total=2, pace_text="closed:1", **told)
    emit("scrape", n=1, full=True, d=SCRAPE)
    emit("run-state", n=1, state="running", cache_reset="done", ceiling=0.5)
    emit("tick", n=1, tick=TICK)
    emit("scrape", n=1, d={"t": 11.0, "engines": {"0": {"prefix_queries": 100, "prefix_hits": 60}}})
    emit("memory", n=1, bytes=2_000_000_000)
    emit("lever", name="prefix-caching", value="off")
    emit("run-end", n=1, state="done", end={"kind": "done"}, result=None)
    emit("notice", level="warning", what="w \x1b[31m\u2028[bold]", mend="m")


@pytest.fixture
def told(tmp_path):
    live = State(header={"schema": journal.SCHEMA, "session": "s"})
    writer = Journal(tmp_path, {"session": "s"})
    tell(writer, live)
    writer.close()
    return tmp_path, live


def test_folding_the_file_gives_the_live_state(told):
    folder, live = told
    assert state.load(folder) == live


def test_the_fold_keeps_what_matters(told):
    _, live = told
    run, engine = live.runs[1], live.engine
    assert run.trace.total.hit_rate == 0.6
    assert [f.id for f in run.finished] == ["a"]
    assert run.memory == [(run.memory[0][0], 2_000_000_000)]
    assert engine is not None and [p.name for p in engine.phases] == ["import", "weights"]
    assert all(phase.ended is not None for phase in engine.phases)
    assert live.pending == {"prefix-caching": "off"}


def test_a_journal_cut_at_any_byte_opens_with_all_that_was_whole(told, tmp_path):
    folder, _ = told
    data = (folder / journal.NAME).read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    first = data.index(b"\n") + 1
    # Every byte of the last 400, and a coarser sweep before.
    for end in [*range(first, len(data), 37), *range(len(data) - 400, len(data) + 1)]:
        (cut / journal.NAME).write_bytes(data[:end])
        _, events = journal.read(cut)
        whole = data[first:end].count(b"\n")
        assert len(list(events)) == whole
        state.load(cut)


def test_a_cut_in_the_header_is_told(tmp_path):
    (tmp_path / journal.NAME).write_bytes(b'{"schema": "vtune.jou')
    with pytest.raises(VtuneError, match="does not begin with a journal header"):
        journal.read(tmp_path)


def test_a_newer_journal_is_refused_with_its_version(tmp_path):
    (tmp_path / journal.NAME).write_text('{"schema": "vtune.journal/9"}\n')
    with pytest.raises(VtuneError, match="vtune.journal/9"):
        journal.read(tmp_path)


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path):
    first = Journal(tmp_path, {"session": "s"})
    with pytest.raises(VtuneError, match="another vtune"):
        Journal(tmp_path, {"session": "s"})
    first.close()


def test_a_folder_that_holds_a_session_is_not_written_over(told):
    folder, live = told
    with pytest.raises(VtuneError, match="holds a session"):
        Journal(folder, {"session": "t"})
    assert state.load(folder) == live


def test_only_the_owner_can_read_a_journal(tmp_path):
    Journal(tmp_path, {"session": "s"}).close()
    assert os.stat(tmp_path / journal.NAME).st_mode & 0o777 == 0o600


def test_an_event_of_a_newer_version_is_skipped(told):
    folder, live = told
    with (folder / journal.NAME).open("a") as file:
        file.write(json.dumps({"e": "hologram", "t": 1.0}) + "\n")
    assert state.load(folder) == live


def test_a_full_disk_stops_the_journal_and_not_the_session(tmp_path, monkeypatch):
    writer = Journal(tmp_path, {"session": "s"})

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    event = writer.append("notice", level="info", what="x")
    assert event["what"] == "x" and writer.fault == "No space left on device"


def test_a_disk_that_is_full_from_the_start_is_refused(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(VtuneError, match="can't be written") as refusal:
            Journal(tmp_path, {"session": "s"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "free space" in refusal.value.mend
