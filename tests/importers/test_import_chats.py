"""Formats that hold the prompts themselves: data sets, request bodies, vtune's own."""

import json

from made_imports import chat, imported, lines, said, times


def test_fine_tuning_conversations_give_a_request_for_each_answer(tmp_path):
    turns = [
        {"role": r, "content": c}
        for r, c in (("system", "s"), ("user", "q1"), ("assistant", "a1"), ("user", "q2"), ("assistant", "a2"))
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", {"messages": turns}, {"messages": [turns[0], turns[2]]}))
    assert report.format == "openai-finetune" and report.read == 3
    assert [said(r) for r in loaded.requests] == [["s", "q1"], ["s", "q1", "a1", "q2"]]
    assert loaded.requests[1].after == loaded.requests[0].id


def test_sharegpt_roles_and_answers(tmp_path):
    rows = [
        {
            "id": "one",
            "conversations": [
                {"from": f, "value": v}
                for f, v in (("human", "q1"), ("gpt", "a1"), ("human", "q2"), ("gpt", "a2 " * 9))
            ],
        },
        {"id": "two", "conversations": [{"from": "gpt", "value": "hello"}], "tools": "[]"},
        {"id": "three", "conversations": [{"from": "alien", "value": "x"}, {"from": "gpt", "value": "y"}]},
    ]
    path = tmp_path / "sg.json"
    path.write_text(json.dumps(rows, indent=1))
    loaded, report = imported(path)
    assert [said(r) for r in loaded.requests] == [["q1"], ["q1", "a1", "q2"]]
    assert [r.body["max_tokens"] for r in loaded.requests] == [1, 7] and report.read == 4


def test_vllm_bench_custom_guidellm_columns_and_bare_bodies(tmp_path):
    custom, report = imported(lines(tmp_path / "c.jsonl", {"prompt": "one", "output_tokens": 10}, {"prompt": "two"}))
    assert report.format == "vllm-custom" and [r.body["max_tokens"] for r in custom.requests] == [10, 256]
    guide, report = imported(
        lines(tmp_path / "g.jsonl", {"question": "q", "system_prompt": "s", "output_tokens_count": 5, "other": 1})
    )
    assert (
        report.format == "guidellm"
        and said(guide.requests[0]) == ["s", "q"]
        and guide.requests[0].body["max_tokens"] == 5
    )
    bare, report = imported(
        lines(tmp_path / "b.jsonl", chat("x", seed=4), {"model": "m", "prompt": "p", "max_tokens": 2})
    )
    assert [r.path for r in bare.requests] == ["/v1/chat/completions", "/v1/completions"]
    assert bare.requests[0].body == chat("x", seed=4)


def test_aiperf_single_multi_inputs_and_payloads(tmp_path):
    single, report = imported(
        lines(
            tmp_path / "s.jsonl",
            {"timestamp": 0, "text": "a", "output_length": 6, "extra": {"temperature": 0}},
            {"timestamp": 1500, "texts": ["b", "c"]},
            {"timestamp": 2000, "text": "d", "image": "cat.png"},
        )
    )
    assert report.format == "aiperf-single" and times(single) == [0, 1.5] and report.read == 3
    assert single.requests[0].body["temperature"] == 0 and single.requests[0].body["max_tokens"] == 6
    turns = [{"timestamp": 0, "text": "one"}, {"text": "two", "delay": 1000}]
    multi, report = imported(lines(tmp_path / "m.jsonl", {"session_id": "s", "turns": turns}))
    first, second = multi.requests
    assert said(second) == ["one", "", "two"] and (second.after, second.think_s, second.at) == (first.id, 1.0, 1.0)
    assert any("answers of earlier turns" in lacking for lacking in report.lacks)
    inputs = {
        "data": [{"session_id": "a", "payloads": [chat("x"), chat("y")]}, {"session_id": "b", "payloads": [{"bad": 1}]}]
    }
    loaded, report = imported(lines(tmp_path / "inputs.json", inputs))
    assert report.format == "aiperf-inputs" and report.read == 3 and loaded.requests[1].after == loaded.requests[0].id
    rows = [{"timestamp": 0, "payload": chat("x")}, {"timestamp": 500, "text_input": "y", "output_length": 4}]
    mixed, report = imported(lines(tmp_path / "p.jsonl", *rows))
    assert report.format == "mooncake" and mixed.requests[0].body == chat("x") and times(mixed) == [0, 0.5]


def test_a_vtune_recording_stays_what_it_was(tmp_path):
    header = {
        "schema": "vtune.recording/1",
        "name": "n",
        "synthetic": True,
        "lacks": ["x"],
        "rules_out": ["speculative decoding"],
    }
    rows = [
        {
            "id": "b",
            "at": 5,
            "path": "/v1/chat/completions",
            "body": chat("q"),
            "after": "a",
            "think_s": 1.5,
            "tenant": "t",
        },
        {"id": "a", "at": 2, "path": "/v1/chat/completions", "body": chat("p"), "group": "g", "reply": {"status": 200}},
    ]
    loaded, report = imported(lines(tmp_path / "f.jsonl", header, *rows, header, "{torn"))
    first, second = loaded.requests
    assert (first.id, first.at, first.group, first.reply) == ("a", 0.0, "g", {"status": 200})
    assert (second.after, second.think_s, second.at, second.extra["tenant"]) == ("a", 1.5, 3.0, "t")
    assert loaded.synthetic and loaded.header["rules_out"] == ["speculative decoding"] and report.kept == 2


def test_a_named_format_wins_over_what_the_file_looks_like(tmp_path):
    path = lines(tmp_path / "f.jsonl", {"prompt": "one", "output_tokens": 10})
    assert imported(path)[1].format == "vllm-custom"
    loaded, report = imported(path, format="prompts")
    assert (report.format, report.detected) == ("prompts", "--format") and loaded.requests[0].path == "/v1/completions"
