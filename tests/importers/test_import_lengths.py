"""Traces that have only lengths: their prompts are made up, and shared blocks stay shared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_imports import ids, imported, lines, times

from tui.traffic.importers import Options, opened
from tui.traffic.prefix import Prompt, analyse


def row(at, tokens, hash_ids=None, output=5, **more):
    return {
        "timestamp": at,
        "input_length": tokens,
        "output_length": output,
        **({"hash_ids": hash_ids} if hash_ids is not None else {}),
        **more,
    }


# 1,024 tokens of the second prompt and 512 of the third are those of the first.
MOONCAKE = [row(0, 1300, [0, 1, 2]), row(0, 1400, [0, 1, 3]), row(3000, 600, [0, 4])]


def ceiling(loaded, block):
    return analyse([Prompt(r.id, r.body["prompt"]) for r in loaded.requests], block).ceiling


def test_mooncake_keeps_its_lengths_times_and_the_hit_rate_of_an_endless_cache(tmp_path):
    loaded, report = imported(lines(tmp_path / "f.jsonl", *MOONCAKE))
    assert [len(r.body["prompt"]) for r in loaded.requests] == [1300, 1400, 600]
    assert times(loaded) == [0, 0, 3] and report.time["unit"] == "ms"
    for block in (512, 16):
        assert ceiling(loaded, block) == pytest.approx((1024 + 512) / 3300)
    request = loaded.requests[0]
    assert (request.path, request.body["max_tokens"], request.body["ignore_eos"]) == ("/v1/completions", 5, True)
    assert all(100 <= token <= 999 for r in loaded.requests for token in r.body["prompt"])
    assert (request.extra["hash_ids"], request.extra["block_size"]) == ([0, 1, 2], 512)


def test_made_up_prompts_say_what_they_rule_out(tmp_path):
    loaded, report = imported(lines(tmp_path / "f.jsonl", *MOONCAKE))
    assert loaded.synthetic and report.rules_out == ["speculative decoding"] == loaded.header["rules_out"]
    blind, report = imported(lines(tmp_path / "b.jsonl", row(0, 600), row(100, 600)))
    assert report.rules_out == ["speculative decoding", "prefix caching"] and ceiling(blind, 16) == 0
    some, report = imported(lines(tmp_path / "s.jsonl", *MOONCAKE, row(4000, 600)))
    assert any("of 1 requests" in lacking for lacking in report.lacks) and "prefix caching" not in report.rules_out


def test_the_same_file_gives_the_same_tokens_in_another_process(tmp_path):
    path = lines(tmp_path / "f.jsonl", *MOONCAKE, row(4000, 30))
    here = imported(path)[0].sha256
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from pathlib import Path; "
        f"from made_imports import imported; print(imported(Path({str(path)!r}))[0].sha256)"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60,
                           env={**os.environ, "PYTHONHASHSEED": "7"})  # fmt: skip
    assert other.stdout.strip() == here
    assert imported(path, seed=1)[0].sha256 != here


def test_rows_whose_ids_do_not_cover_them_are_refused_not_shortened(tmp_path):
    bad = {
        "too few": row(1, 1300, [0, 1]), "too many": row(2, 500, [0, 1]), "twice": row(3, 1300, [7, 7, 8]),
        "negative": row(4, 100, [-1]), "text": row(5, 100, ["a"]), "half a token": row(6, 100.5, [1]),
        "nothing": row(7, 0, []),
        "negative length": row(8, -5, [1]), "unknown output": row(9, 100, [9], output="many"),
    }  # fmt: skip
    loaded, report = imported(lines(tmp_path / "f.jsonl", *MOONCAKE, *bad.values()))
    assert len(loaded.requests) == 3 and report.read == 12
    assert any("2 hash ids for 1300 tokens at 512 a block" in e for _, es in report.skipped.values() for e in es)


def test_a_block_size_that_fits_no_row_is_replaced_by_one_that_fits_all(tmp_path):
    rows = [{"chat_id": n, "parent_chat_id": -1, "timestamp": 0.5 * n, "input_length": tokens, "output_length": 9,
             "hash_ids": list(range(count))} for n, (tokens, count) in enumerate([(521, 3), (400, 2)])]  # fmt: skip
    loaded, report = imported(lines(tmp_path / "f.jsonl", *rows))
    assert any("256 tokens each" in note for note in report.notes)
    assert loaded.requests[0].body["prompt"][:400] == loaded.requests[1].body["prompt"]
    assert imported(tmp_path / "f.jsonl", block_size=200)[0].requests[0].extra["block_size"] == 200


def test_prompts_can_be_left_out_where_only_the_ids_matter(tmp_path):
    with opened(lines(tmp_path / "f.jsonl", *MOONCAKE), Options()) as (plan, report):
        requests = list(plan.requests(expand=False))
        assert report.kept == 3
    assert [(r.body["prompt"], r.extra["prompt_tokens"], r.extra["hash_ids"]) for r in requests] == [
        ([], 1300, [0, 1, 2]), ([], 1400, [0, 1, 3]), ([], 600, [0, 4]),
    ]  # fmt: skip


def test_whole_and_broken_seconds_tell_guidellm_and_timed_traces_from_mooncake(tmp_path):
    _, report = imported(lines(tmp_path / "g.jsonl", row(1234500, 512), row(1234500.5, 512)))
    assert report.format == "guidellm-trace" and report.time["span_s"] == 0.5
    timed = [row(0, 40, [1, 2, 3]), row(2, 33, [1, 2, 9])]
    loaded, report = imported(lines(tmp_path / "t.jsonl", *timed))
    assert report.format == "timed-trace" and times(loaded) == [0, 2]
    assert ceiling(loaded, 16) == pytest.approx(32 / 73)


def test_azure_with_crlf_seven_digits_and_no_last_newline(tmp_path):
    path = tmp_path / "azure.csv"
    path.write_bytes(b"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,0,48,10\r\n"
                     b"2023-11-16 18:17:04.0319600,1,31,8\r\n\r\n2024-05-12 00:00:00+00:00,0,5,1")  # fmt: skip
    loaded, report = imported(path)
    assert report.format == "azure" and times(loaded)[:2] == [0, 0.052]
    assert [len(r.body["prompt"]) for r in loaded.requests] == [48, 31, 5]
    assert "2 without a zone, taken as UTC" in report.time["assumed"]
    assert loaded.header["captured_at"] == "2023-11-16T18:17:03.979+00:00"


def test_burstgpt_is_read_by_name_of_column_and_sessions_are_chained(tmp_path):
    path = tmp_path / "burst.csv"
    path.write_text(
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "19440110.0,s1,4,GPT-4,90,44,134,Conversation log\n19440111.0,,1,ChatGPT,0,0,0,API log\n"
        "19440112.0,,,ChatGPT,30,0,30,API log\n19440120.0,s1,1,GPT-4,200,5,999,Conversation log\n"
    )
    loaded, report = imported(path)
    assert ids(loaded) == ["r1", "r2", "r3"] and report.read == 4
    assert [r.body["max_tokens"] for r in loaded.requests] == [44, 1, 5]
    assert (loaded.requests[2].after, loaded.requests[2].think_s) == ("r1", 6.0)
    notes = " ".join(report.all_notes())
    assert "1 x failed when recorded" in notes and "1 x rows whose total" in notes
    assert ids(imported(path, drop_failed=True)[0]) == ["r1", "r2"]
    old = tmp_path / "old.csv"
    old.write_text(
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
    )
    assert len(imported(old)[0].requests[0].body["prompt"]) == 472


def test_weka_ids_belong_to_their_conversation_and_list_full_blocks_only(tmp_path):
    inner = {"t": 5, "in": 10, "out": 2, "hash_ids": []}
    conversations = [{"id": name, "block_size": 64, "requests": [
        {"t": 0.0, "type": "n", "in": 130, "out": 5, "hash_ids": [1, 2], "api_time": 2.0},
        {"t": 9.0, "type": "subagent", "in": 200, "out": 5, "hash_ids": [1, 2, 3], "requests": [inner]},
    ]} for name in ("A", "B")]  # fmt: skip
    loaded, report = imported(lines(tmp_path / "f.jsonl", *conversations))
    by_session = {s: [r for r in loaded.requests if r.extra["session"] == s] for s in "AB"}
    first, _, last = by_session["A"]
    assert first.body["prompt"][:128] == last.body["prompt"][:128] != by_session["B"][0].body["prompt"][:128]
    assert [len(r.body["prompt"]) for r in by_session["B"]] == [130, 10, 200]
    assert report.format == "weka" and "when conversations started" in report.lacks
