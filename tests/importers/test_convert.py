"""Recordings in other tools' formats, and back."""

import json

import pytest
from made_imports import imported, lines

from tui.cli import main
from tui.traffic import recording, synth
from tui.traffic.convert import convert
from tui.traffic.recording import Request


@pytest.fixture
def made(tmp_path):
    def chat(*words, **more):
        roles = ("user", "assistant")
        return {
            "messages": [{"role": roles[n % 2], "content": word} for n, word in enumerate(words)],
            "max_tokens": 7,
            **more,
        }

    requests = (
        Request("a", 0.0, "/v1/chat/completions", chat("é\u2028?", cache_salt="s"), extra={"session": "x"}),
        Request("b", 60.0, "/v1/completions", {"prompt": "plain", "max_tokens": 3, "temperature": 0}),
        Request("c", 120.0, "/v1/chat/completions", chat("q", "a", "r"), extra={"session": "x"}),
    )
    path = tmp_path / "made.jsonl"
    recording.write(path, {"name": "made"}, requests)
    return recording.load(path)


@pytest.mark.parametrize("target", ["openai-batch", "aiperf"])
def test_bodies_times_and_sessions_come_back(made, tmp_path, target):
    out = tmp_path / "there.jsonl"
    done = convert(made, target, out)
    back, report = imported(out)
    assert (done.read, done.kept, report.kept) == (3, 3, 3)
    assert [(r.at, r.path, r.body, r.extra.get("session")) for r in back.requests] == [
        (r.at, r.path, r.body, r.extra.get("session")) for r in made.requests
    ]
    assert out.stat().st_mode & 0o777 == 0o600


def test_mooncake_ids_come_back_with_the_same_tokens(tmp_path):
    rows = [{"timestamp": 3000 * n, "input_length": 600, "output_length": 5, "hash_ids": [0, n + 1]} for n in range(3)]
    there, _ = imported(lines(tmp_path / "f.jsonl", *rows))
    convert(there, "mooncake", tmp_path / "again.jsonl")
    assert [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()] == rows
    assert imported(tmp_path / "again.jsonl")[0].requests == there.requests


def test_text_goes_into_aiperfs_superset_of_mooncake(made, tmp_path):
    convert(made, "mooncake", tmp_path / "m.jsonl")
    back, report = imported(tmp_path / "m.jsonl")
    assert report.format == "mooncake" and [r.at for r in back.requests] == [0, 60, 120]
    assert back.requests[2].body["messages"] == made.requests[2].body["messages"]


def test_the_benchmarks_data_set_takes_single_prompts_and_the_rest_is_counted(made, tmp_path, capsys):
    out, told = tmp_path / "c.jsonl", tmp_path / "told.json"
    assert main(["convert", str(made.path), "--to", "vllm-custom", "-o", str(out), "--json", str(told)]) == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"prompt": "é\u2028?", "output_tokens": 7}, {"prompt": "plain", "output_tokens": 3},
    ]  # fmt: skip
    report = json.loads(told.read_text())
    assert (report["read"], report["kept"], report["skipped"][0]["examples"]) == (3, 2, ["c"])
    assert "arrival times" in capsys.readouterr().out
    assert main(["convert", str(made.path), "--to", "vllm-custom", "-o", str(out)]) == 2


def test_a_recording_that_another_format_can_hold_nothing_of_is_refused(tmp_path, capsys):
    path = tmp_path / "ids.jsonl"
    recording.write(path, {"name": "ids"}, [Request("a", 0.0, "/v1/completions", {"prompt": [1, 2]})])
    assert main(["convert", str(path), "--to", "vllm-custom", "-o", str(tmp_path / "o.jsonl")]) == 2
    assert "token ids" in capsys.readouterr().err and not (tmp_path / "o.jsonl").exists()


@pytest.mark.parametrize("prefix", ["shared", "unique"])
def test_synth_makes_what_was_asked_for(tmp_path, prefix):
    out = tmp_path / "s.jsonl"
    words = ["--requests", "6", "--prompt-chars", "400", "--max-tokens", "9", "--prefix", prefix, "--concurrency", "2"]
    assert main(["synth", *words, "-o", str(out)]) == 0
    loaded = recording.load(out)
    prompts = [r.body["messages"][0]["content"] for r in loaded.requests]
    assert [len(prompt) for prompt in prompts] == [400] * 6 and len(set(prompts)) == 6
    assert len({prompt[:360] for prompt in prompts}) == (1 if prefix == "shared" else 6)
    assert len({prompt[:12] for prompt in prompts}) == (1 if prefix == "shared" else 6)
    assert [r.at for r in loaded.requests] == [0, 0, 1, 1, 2, 2]
    assert loaded.synthetic and loaded.header["rules_out"] == ["speculative decoding"]
    again = tmp_path / "again.jsonl"
    synth.write(synth.Load(6, 400, 9, prefix == "shared", 2), again)
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(("option", "value"), [("--requests", "0"), ("--prompt-chars", "5"), ("--prefix", "some")])
def test_synth_refuses_what_can_not_be_made(tmp_path, capsys, option, value):
    words = {"--requests": "2", "--prompt-chars": "100", "--max-tokens": "4", "--prefix": "shared", option: value}
    assert main(["synth", *(word for pair in words.items() for word in pair), "-o", str(tmp_path / "s.jsonl")]) == 2
    assert "mend:" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["openai-batch", "aiperf", "mooncake"])
def test_links_between_turns_come_back_but_for_forks(tmp_path, target):
    def turn(id, at, *words, **more):
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": word} for n, word in enumerate(words)]
        return Request(id, at, "/v1/chat/completions", {"messages": messages, "max_tokens": 5}, **more)

    requests = (
        turn("a", 0.0, "q"), turn("other", 1.0, "o"), turn("b", 2.0, "q", "s", "r", after="a", think_s=1.25),
        turn("c", 4.0, "q", "s", "r", "t", "u", after="b", think_s=0.5),
        turn("fork", 5.0, "q", "s", "v", after="a", think_s=3.0),
        turn("d", 7.0, "q", "s", "v", "w", "x", after="fork", think_s=0.5),
    )  # fmt: skip
    path = tmp_path / "linked.jsonl"
    recording.write(path, {"name": "linked"}, requests)
    done = convert(recording.load(path, filed=True), target, tmp_path / "there.jsonl")
    back, _ = imported(tmp_path / "there.jsonl")
    names = dict(zip((r.id for r in back.requests), "a other b c fork d".split(), strict=True))
    linked = {names[r.id]: (names.get(r.after), r.think_s) for r in back.requests}
    thinks = (1.25, 0.5, 0.5) if target != "openai-batch" else (None, None, None)
    assert linked == {
        "a": (None, None), "other": (None, None), "b": ("a", thinks[0]), "c": ("b", thinks[1]), "fork": (None, None),
        "d": ("fork", thinks[2]),
    }  # fmt: skip
    assert "links where several turns follow one answer" in done.lost


def test_a_call_for_embeddings_is_skipped_where_it_has_no_place(made, tmp_path):
    path = tmp_path / "mixed.jsonl"
    embed = Request("e", 1.0, "/v1/embeddings", {"model": "e", "input": "words"})
    recording.write(path, {"name": "mixed"}, [*made.requests, embed])
    for target in ("aiperf", "mooncake", "vllm-custom"):
        done = convert(recording.load(path), target, tmp_path / f"{target}.jsonl")
        assert any("e" in ids for _, ids in done.skipped.values())
