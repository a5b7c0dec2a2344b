"""The RAG program: the recordings are its work, and it speaks to any OpenAI-compatible server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tui.traffic.recording import load

pytest.importorskip("bm25s", reason="the RAG program retrieves with bm25s: pip install '.[rag]'")

from rag.__main__ import main
from rag.conversation import Conversation
from rag.knowledge import Knowledge
from rag.script import load as load_script

RECORDINGS = Path(__file__).parents[2] / "recordings"
SCRIPT = """
notes = "made for a test"
seed = 1
gap_s = 0.1
think_s = 0.1
[defaults]
instructions = "plain"
passages = 1
max_tokens = 9
[[conversation]]
user = "ann"
group = "g"
questions = ["Where do lions live?", "And what do they eat?"]
[[conversation]]
user = "bob"
temperature = 0.5
seed = 3
documents = ["tea"]
questions = ["How hot?"]
"""


class Answering(BaseHTTPRequestHandler):
    """Streams a fixed answer, cut inside a line and a character, or refuses when the model is unknown."""

    answer = "Grass\u2028land, caf\u00e9."

    def do_POST(self):
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.keys.append(self.headers.get("Authorization"))
        if self.server.bodies[-1]["model"] == "unknown":
            return self.send_error(404, "no such model")
        self.send_response(200)
        self.end_headers()
        deltas = [{"role": "assistant", "content": ""}, *({"content": c} for c in self.answer)]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        if self.server.bodies[-1]["model"] == "broken":
            events = [*events[:3], {"error": {"message": "engine died"}}]
        events.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}})
        lines = [": keep-alive", *(f"data: {json.dumps(e, ensure_ascii=False)}" for e in events)]
        lines += [] if self.server.bodies[-1]["model"] == "cut" else ["data: [DONE]"]
        data = "".join(line + "\n\n" for line in lines).encode()
        for start in range(0, len(data), 7):
            self.wfile.write(data[start : start + 7])
            self.wfile.flush()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    httpd.bodies, httpd.keys = [], []
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    httpd.url = f"http://127.0.0.1:{httpd.server_port}"
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def folder(tmp_path):
    """A knowledge base of two passages, instructions and a script."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/lions.md").write_text("# Lions\n\nLions live in grassland and eat zebras.\n")
    (tmp_path / "docs/tea.md").write_text("# Tea\n\nGreen tea is made at 70 degrees.\n")
    (tmp_path / "plain.md").write_text("Answer briefly.\n")
    (tmp_path / "small.toml").write_text(SCRIPT)
    return tmp_path


def arguments(server, folder, *more, model="m"):
    places = ["--docs", str(folder / "docs"), "--prompts", str(folder), "--instructions", "plain"]
    return ["--url", server.url, "--model", model, *places, *more]


def test_it_still_builds_the_requests_that_were_recorded(shipped):
    file = RECORDINGS / "scripts" / f"{shipped.name}.toml"
    script = load_script(file, RECORDINGS / "handbook/prompts", "smollm2-135m")
    knowledge = Knowledge(RECORDINGS / "handbook/docs")
    recorded = {request.id: request for request in shipped.requests}
    for planned in script.conversations:
        conversation, before = Conversation(knowledge, planned.settings, planned.documents), None
        for turn in planned.turns:
            request = recorded.pop(turn.id)
            if before:  # the recorded answer stands in the next turn's messages
                conversation.answered(request.body["messages"][-2]["content"])
            assert conversation.ask(turn.question) == request.body, turn.id
            assert (request.group, request.after, request.think_s) == (planned.group, before, turn.think_s)
            if not before:
                assert request.at == pytest.approx(planned.start_s, abs=1)
            before = turn.id
    assert not recorded
    assert (shipped.header["name"], shipped.header["notes"]) == (script.name, script.notes)


def test_a_script_becomes_a_sound_recording(server, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_KEY", "sesame")
    out = tmp_path / "small.jsonl"
    more = ["--script", str(folder / "small.toml"), "--record", str(out), "--api-key-env", "RAG_KEY"]
    assert main(arguments(server, folder, *more)) == 0
    requests = {request.id: request for request in load(out).requests}
    assert set(requests) == {"ann-1", "ann-2", "bob-1"}
    assert requests["ann-2"].after == "ann-1" and requests["ann-2"].think_s is not None
    assert requests["ann-2"].body["messages"][2] == {"role": "assistant", "content": Answering.answer}
    assert requests["ann-1"].reply["usage"] == {"prompt_tokens": 5, "completion_tokens": 3}
    assert requests["ann-1"].reply["ttft_s"] <= requests["ann-1"].reply["e2e_s"]
    assert (requests["bob-1"].body["seed"], requests["bob-1"].body["temperature"]) == (3, 0.5)
    assert sorted(map(str, server.bodies)) == sorted(str(request.body) for request in requests.values())
    assert set(server.keys) == {"Bearer sesame"}
    assert out.stat().st_mode & 0o777 == 0o600


def test_passages_are_retrieved_once_in_a_conversation(server, folder):
    knowledge = Knowledge(folder / "docs")
    script = load_script(folder / "small.toml", folder, "m")
    conversation = Conversation(knowledge, script.conversations[0].settings)
    first = conversation.ask("Where do lions live?")["messages"][-1]["content"]
    conversation.answered("In grassland.")
    second = conversation.ask("And what do they eat?")["messages"][-1]["content"]
    assert "eat zebras" in first and "Green tea" not in first
    assert second == "And what do they eat?"


def test_the_same_seed_gives_the_same_plan(folder):
    one, two = (load_script(folder / "small.toml", folder, "m") for _ in range(2))
    assert one == two
    other = folder / "other.toml"
    other.write_text(SCRIPT.replace("seed = 1", "seed = 2"))
    assert load_script(other, folder, "m").conversations != one.conversations


def test_a_question_on_the_command_line_is_answered_on_stdout(server, folder, capsys):
    assert main(arguments(server, folder, "How hot is green tea?")) == 0
    out = capsys.readouterr().out
    assert "land, caf\u00e9." in out
    assert "70 degrees" in server.bodies[0]["messages"][1]["content"]


@pytest.mark.parametrize(("model", "words"), [("unknown", "404"), ("broken", "engine died"), ("cut", "broke off")])
def test_a_failure_is_told_in_one_line_and_leaves_no_recording(server, folder, tmp_path, capsys, model, words):
    out = tmp_path / "none.jsonl"
    more = ["--script", str(folder / "small.toml"), "--record", str(out)]
    assert main(arguments(server, folder, *more, model=model)) == 1
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_a_server_that_is_not_there_is_told(folder, server, capsys):
    given = arguments(server, folder, "How hot?")
    given[1] = "http://127.0.0.1:1"
    assert main(given) == 1
    assert "refused" in capsys.readouterr().err
