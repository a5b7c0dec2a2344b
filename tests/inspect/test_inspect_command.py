"""`vtune inspect` from the command line: its result, its words, and the recording that it writes."""

import json

import pytest
from made_prompts import STABLE, ceiling, chat, question

from tui import cli
from tui.traffic import recording
from tui.traffic.inspect import characters

HEADER = {"name": "made", "notes": "by hand", "team": "north"}


def broken(count=8):
    return [chat(f"r{n}", f"Now: 2026-06-09 10:0{n}\n{STABLE}", question(n), group="ab"[n % 2], seed=n)
            for n in range(count)]  # fmt: skip


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "made.jsonl"
    recording.write(path, HEADER, broken())
    return path


def inspected(path, tmp_path, *words):
    out = tmp_path / "result.json"
    assert cli.main(["inspect", str(path), "--json", str(out), "--force", *words]) == 0
    return json.loads(out.read_text())


def test_the_result(made, tmp_path, capsys):
    result = inspected(made, tmp_path)
    assert result["schema"] == "vtune.inspect/1" and result["recording"] == "made"
    assert (result["tokens"], result["block_size"], result["requests"]) == ("characters", 16, 8)
    assert result["prompt_tokens"]["n"] == 8
    assert {group["name"]: group["requests"] for group in result["groups"]} == {"a": 4, "b": 4}
    assert result["capacity"][-1]["hit_rate"] == pytest.approx(result["ceiling"])
    (one,) = result["breaks"]
    assert one["kind"] == "time" and one["requests"] == 8 and one["ceiling_if_mended"] > result["ceiling"]
    told = capsys.readouterr().out
    assert "1. time, 8 requests" in told and "message 0 (system)" in told and "note: " in told


def test_the_rewritten_recording_reaches_what_was_promised(made, tmp_path):
    was, new = made.read_bytes(), tmp_path / "new.jsonl"
    result = inspected(made, tmp_path, "--rewrite", str(new))
    assert made.read_bytes() == was
    before, after = recording.load(made), recording.load(new)
    assert [(r.id, r.at, r.group, r.body["seed"]) for r in before.requests] == [
        (r.id, r.at, r.group, r.body["seed"]) for r in after.requests
    ]
    assert ceiling(after.requests) == pytest.approx(result["ceiling_if_all_mended"])
    again = inspected(new, tmp_path)
    assert again["ceiling"] == pytest.approx(result["ceiling_if_all_mended"]) and again["breaks"] == []
    assert after.header["team"] == "north" and "by hand" in after.header["notes"]
    assert after.header["rewritten_from"] == "made.jsonl" and "time at message 0" in after.header["mends"][0]
    assert new.stat().st_mode & 0o777 == 0o600


def test_the_hard_file_rewritten_reaches_what_was_promised(hard_prefixes, tmp_path):
    new = tmp_path / "new.jsonl"
    result = inspected(hard_prefixes, tmp_path, "--rewrite", str(new))
    assert inspected(new, tmp_path)["ceiling"] == pytest.approx(result["ceiling_if_all_mended"], abs=0.001)
    assert result["ceiling_if_all_mended"] > result["ceiling"] + 0.4


def test_an_existing_file_is_kept(made, tmp_path, capsys):
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    assert cli.main(["inspect", str(made), "--rewrite", str(there)]) == 2
    assert there.read_text() == "mine"
    assert cli.main(["inspect", str(made), "--rewrite", str(made), "--force"]) == 2
    assert "the file that is read" in capsys.readouterr().err
    assert recording.load(made).requests[0].body["seed"] == 0


def test_there_is_nothing_to_rewrite_in_a_sound_recording(tmp_path, capsys):
    path, new = tmp_path / "sound.jsonl", tmp_path / "new.jsonl"
    recording.write(path, HEADER, [chat(f"r{n}", STABLE, question(n)) for n in range(5)])
    assert cli.main(["inspect", str(path), "--rewrite", str(new)]) == 2
    assert "nothing breaks a prefix" in capsys.readouterr().err and not new.exists()


@pytest.mark.parametrize("words", [["--block-size", "0"], ["--set", "kv-dtype=fp8"], ["--url", "ftp://x"]])
def test_bad_usage(made, words):
    assert cli.main(["inspect", str(made), *words]) == 2


def test_an_engine_that_is_not_there(made, capsys):
    assert cli.main(["inspect", str(made), "--url", "http://127.0.0.1:9"]) == 3
    assert "mend:" in capsys.readouterr().err


def test_equal_characters_are_equal_tokens_whatever_stands_behind_them():
    plain, accented = characters.of_text("amber birch cedar"), characters.of_text("amber birch c\u00e9dre")
    assert list(plain[:3]) == list(accented[:3]) and plain[3] != accented[3] and len(plain) == len(accented) == 5


def test_token_ids_are_exact_without_any_tokenizer(tmp_path):
    rows = [recording.Request(f"r{n}", n, "/v1/completions", {"prompt": [*range(50), n]}) for n in range(3)]
    path = tmp_path / "ids.jsonl"
    recording.write(path, HEADER, rows)
    result = inspected(path, tmp_path)
    assert (result["tokens"], result["prompt_tokens"]["max"]) == ("exact", 51)
    assert result["ceiling"] == pytest.approx(2 * 48 / 153)


def test_control_characters_never_reach_the_terminal(tmp_path, capsys):
    rows = [chat(f"r{n}", f"Dear \x1b[31mAnn\u202e{n}xyz of the house,\n{STABLE}", question(n)) for n in range(4)]
    path = tmp_path / "odd.jsonl"
    recording.write(path, HEADER, rows)
    assert cli.main(["inspect", str(path)]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told and "\u202e" not in told
