"""Each way in which a prefix breaks: it is named, quoted, placed, and its cost is right."""

import json
from dataclasses import replace

import pytest
from made_prompts import SHARED, STABLE, TAIL, ceiling, chat, kinds, look, question

from tui.traffic.importers import Options, opened
from tui.traffic.inspect import doctor
from tui.traffic.inspect.difference import shown
from tui.traffic.inspect.mends import tidied
from tui.traffic.recording import Request

N = 6
MOVED = [  # a line before the stable text, what varies in it, kind
    ("Now: {}", [f"2026-06-09T10:0{n}:17Z" for n in range(N)], "time"),
    ("Today is {}.", [f"Tuesday, June {n + 10:02d}, 2026, 03:04 PM" for n in range(N)], "time"),
    ("Now {} here", [f"9:1{n} PM on Monday, {n + 1} March 2026" for n in range(N)], "time"),
    ("当前时间：{}", [f"2026年3月{n + 1}日 10:0{n}" for n in range(N)], "time"),
    ("Current time {} at the desk", [f"1{n}:04:20 UTC" for n in range(N)], "time"),
    ("ts={}", [f"17804{n}2321" for n in range(N)], "time"),
    ("Session: {}", [f"8712b46f-04e1-4c58-9a64-1f0f2f6f00{n}0" for n in range(N)], "uuid"),
    ("trace {} begins", [f"{n}f3ac9912bd04e77" for n in range(N)], "uuid"),
    ("request {} of today", [f"9f2c1a7{n}" for n in range(N)], "uuid"),
    ("run {}", [f"req_{n}aXk20Qz7Lp" for n in range(N)], "uuid"),
    ("Ticket number {} of the day", [str(4711 + 13 * n) for n in range(N)], "number"),
    ("You talk to {} from the warehouse today.", ["Ann", "Bob Dale", "Ceylan", "Dora", "Egon Ek", "Fritz"], "name"),
]


@pytest.mark.parametrize(("line", "values", "kind"), MOVED, ids=[f"{kind}-{line[:8]}" for line, _, kind in MOVED])
def test_a_line_that_varies_before_the_stable_text(line, values, kind):
    requests = [chat(f"r{n}", f"{line.format(v)}\n{STABLE}", question(n)) for n, v in enumerate(values)]
    found = look(requests)
    assert kinds(found) == [kind]
    one = found.breaks[0]
    assert one.requests == N and not one.with_others
    assert one.quote in values and one.other in values and one.quote != one.other
    at = line.index("{}")
    assert one.where.startswith(f"message 0 (system), character {at}")
    # The line goes behind the question, after an empty line.
    lengths = [SHARED + TAIL + -(-(32 + 2 + len(line.format(v))) // 4) for v in values]
    assert one.ceiling_if_mended == pytest.approx((N - 1) * SHARED / sum(lengths))
    first = found.mended[0].body["messages"]
    assert first[0]["content"] == STABLE
    assert first[1]["content"] == f"{question(0)}\n\n{line.format(values[0])}"


def test_in_a_long_line_only_the_varying_part_is_moved():
    line = "Answer in one paragraph. " * 10
    requests = [chat(f"r{n}", f"{line}It is 2026-06-0{n + 1}. {line}{STABLE}", question(n)) for n in range(N)]
    found = look(requests)
    assert kinds(found) == ["time"]
    assert found.mended[2].body["messages"][0]["content"] == f"{line}It is [time]. {line}{STABLE}"
    assert found.mended[2].body["messages"][1]["content"] == f"{question(2)}\n\ntime: 2026-06-03"


def test_what_hides_behind_another_is_found_too_and_said_to():
    def system(n):
        return f"Now: 2026-06-09 10:0{n}\nSession: 8712b46f-04e1-4c58-9a64-1f0f2f6f00{n}0\n{STABLE}"

    found = look([chat(f"r{n}", system(n), question(n)) for n in range(N)])
    assert set(kinds(found)) == {"time", "uuid"}
    assert all(one.with_others for one in found.breaks)
    assert found.mended[0].body["messages"][0]["content"] == STABLE
    assert {one.ceiling_if_mended for one in found.breaks} == {found.ceiling}


def test_each_of_many_groups_has_its_own_cause_and_all_are_told():
    labels = ("Time", "Seen", "Date", "Turn", "Run", "Try", "Row", "Page", "Job", "Lot", "Bin", "Pen", "Cup", "Map")
    texts = {label: STABLE.replace("Cite the passage", f"{label} rules: cite the {label}") for label in labels}
    requests = [chat(f"{label}{n}", f"{label}: {n * 37 + 11}\n{texts[label]}", question(n))
                for n in range(4) for label in labels]  # fmt: skip
    found = look(requests)
    assert kinds(found) == ["number"] * len(labels) and {one.requests for one in found.breaks} == {4}
    assert found.ceiling == ceiling(found.mended) > 0.6


class Marking:
    """A mend that leaves its mark on every prompt."""

    def __init__(self, mark):
        self.mark = mark

    def apply(self, requests):
        return [replace(r, body={"prompt": r.body["prompt"] + self.mark}) for r in requests]


class Scores:
    """Stands in for the counting: what is reached with which marks."""

    def __init__(self, **reached):
        self.reached = reached

    def ceiling(self, requests):
        return self.reached[requests[0].body["prompt"]]


def test_a_mend_that_only_makes_up_for_a_bad_one_goes_with_it():
    bad, cure = Marking("b"), Marking("c")
    scores = Scores(x=0.5, xb=0.3, xc=0.5, xbc=0.4)
    one = Request("r", 0.0, "/v1/completions", {"prompt": "x"})
    assert doctor._worthwhile([bad, cure], [one], scores) == []


PASSAGES = [f"{word} " * 16 for word in ("amber", "birch", "cedar", "delta")]


def numbered(order):
    return "".join(f"[{place}] {PASSAGES[n]}\n" for place, n in enumerate(order, 1))


def named(order):
    return "".join(f"[{n + 1}] {PASSAGES[n]}\n" for n in order)


@pytest.mark.parametrize("written", [numbered, named])
def test_passages_in_another_order(written):
    orders = ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0])
    requests = [
        chat(f"r{n}", STABLE, f"{written(order)}Question: {question(n)}") for n, order in enumerate(orders)
    ]
    found = look(requests)
    assert kinds(found) == ["reordered passages"]
    contents = [request.body["messages"][1]["content"] for request in found.mended]
    assert len({text.split("Question:")[0] for text in contents}) == 1
    assert all(sorted(text) == sorted(r.body["messages"][1]["content"]) for text, r in zip(contents, requests))
    assert [text.split("Question: ")[1] for text in contents] == [question(n) for n in range(3)]
    assert found.ceiling == ceiling(found.mended) > ceiling(requests) + 0.2
    if written is numbered:
        assert contents[1].startswith("[1] ") and "\n[2] " in contents[1]


def test_passages_that_are_not_the_same_are_no_fault():
    requests = [chat(f"r{n}", STABLE, f"[1] {word * 40}\n[2] {word * 30}\nQuestion: why?") for n, word in
                enumerate(("amber ", "birch ", "cedar "))]  # fmt: skip
    assert kinds(look(requests)) == []


def tool(flipped):
    schema = {"type": "object", "properties": {"q": {"type": "string", "description": "what to look for"}}}
    inner = {"name": "search", "description": "looks into the handbook", "parameters": schema}
    if flipped:
        inner = dict(reversed(inner.items()))
        return dict(reversed({"type": "function", "function": inner}.items()))
    return {"type": "function", "function": inner}


def test_keys_of_tools_in_another_order():
    requests = [chat(f"r{n}", STABLE, question(n), tools=[tool(n % 2)]) for n in range(N)]
    found = look(requests)
    assert kinds(found) == ["reordered JSON keys"]
    assert found.breaks[0].where.startswith("tools")
    assert len({json.dumps(request.body["tools"]) for request in found.mended}) == 1
    assert all(a.body["tools"] == b.body["tools"] for a, b in zip(found.mended, requests))


def test_tools_in_another_order():
    other = {"type": "function", "function": {"name": "order", "description": "orders an article from a supplier"}}
    requests = [chat(f"r{n}", STABLE, question(n), tools=[tool(0), other][:: 1 - 2 * (n % 2)]) for n in range(N)]
    assert kinds(look(requests)) == ["reordered JSON keys"]


def test_keys_of_json_inside_the_text_in_another_order():
    def context(n):
        value = {"shop": "Tolby Road", "open": {"from": 8, "to": 18}, "staff": ["Ann", "Bo"]}
        return json.dumps(dict(reversed(value.items())) if n % 2 else value)

    requests = [chat(f"r{n}", f"Context: {context(n)}\n{STABLE}", question(n)) for n in range(N)]
    found = look(requests)
    assert kinds(found) == ["reordered JSON keys"]
    assert found.breaks[0].where.startswith("message 0")
    assert len({request.body["messages"][0]["content"] for request in found.mended}) == 1


def test_white_space():
    heads = ["Be brief.\n\n", "Be brief. \n\n", "Be brief.\n\n\n", "Be  brief.\r\n\r\n"]
    requests = [chat(f"r{n}", head + STABLE, question(n)) for n, head in enumerate(heads)]
    found = look(requests)
    assert kinds(found) == ["white space"]
    assert {request.body["messages"][0]["content"] for request in found.mended} == {tidied(heads[0] + STABLE)}


def test_template_arguments():
    more = [{}, {"chat_template_kwargs": {"enable_thinking": False}}] * 3
    requests = [chat(f"r{n}", STABLE, question(n), **keys) for n, keys in enumerate(more)]
    found = look(requests)
    assert kinds(found) == ["template"]
    assert len({json.dumps(request.body.get("chat_template_kwargs")) for request in found.mended}) == 1


def test_the_same_text_in_another_role():
    requests = [chat(f"r{n}", STABLE, question(n)) for n in range(N)]
    for request in requests[1::2]:
        request.body["messages"][0]["role"] = "developer"
    found = look(requests)
    assert kinds(found) == ["template"]
    assert {request.body["messages"][0]["role"] for request in found.mended} == {"system"}


def test_an_image_before_the_text_that_all_share():
    def asked(n):
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{n}AAAA"}}
        body = {"messages": [{"role": "user", "content": [picture, {"type": "text", "text": STABLE}]}]}
        return Request(f"r{n}", float(n), "/v1/chat/completions", body)

    found = look([asked(n) for n in range(N)])
    assert kinds(found) == ["image"] and found.breaks[0].where.startswith("message 0 (user), character 0")
    assert [part["type"] for part in found.mended[3].body["messages"][0]["content"]] == ["text", "image_url"]
    assert found.ceiling == ceiling(found.mended) > 0.7 and ceiling([asked(n) for n in range(N)]) == 0
    assert ceiling([replace(asked(0), id=str(n)) for n in range(N)]) > 0.7


def test_a_salt_for_each_user():
    requests = [chat(f"r{n}", STABLE, question(n), cache_salt=f"tenant-{n}") for n in range(N)]
    found = look(requests)
    assert kinds(found) == ["salt"]
    each = SHARED + TAIL + 8
    assert found.breaks[0].ceiling_if_mended == pytest.approx((N - 1) * SHARED / (N * each))
    assert ceiling(requests) == 0


def conversation(edit):
    """Three turns; `edit` makes of the messages so far what the client sends of them."""
    requests, said = [], [{"role": "system", "content": STABLE}]
    for turn in range(3):
        said = [*said, {"role": "user", "content": f"{question(turn)} {STABLE[:200]}"}]
        after = requests[-1].id if requests else None
        requests.append(
            Request(f"t{turn}", float(turn), "/v1/chat/completions", {"messages": edit(said)}, after=after,
                    reply={"usage": {"completion_tokens": 58}})
        )  # fmt: skip
        said = [*said, {"role": "assistant", "content": f"{question(turn + 6)} {STABLE[200:400]}"}]
    return requests


def test_a_history_that_grows_is_sound_and_its_answers_count():
    requests = conversation(lambda said: said)
    assert kinds(look(requests)) == []
    # Turn 3 repeats turn 2 with its answer: all but the rest of a block and the new question is there.
    assert ceiling(requests) > 0.55


def test_several_fields_of_a_profile_that_vary():
    people = [("Ann", "Tolby", 3), ("Bob", "Harrow Quay", 17), ("Cyd", "Leith", 240), ("Dora", "Ghent", 9)]
    requests = [
        chat(f"r{n}", f"User: {name}, city {city}\nOrders so far: {count}\n{STABLE}", question(n))
        for n, (name, city, count) in enumerate(people)
    ]
    found = look(requests)
    assert set(kinds(found)) <= {"name", "number"} and len(found.breaks) >= 2
    assert {request.body["messages"][0]["content"] for request in found.mended} == {STABLE}


def trim(said):
    return [said[0], *said[1:][-3:]]


def edit_first(said):
    return [said[0], cut(said[1], len(said)), *said[2:]]


# An edited history that has no link can't be told from other text.
@pytest.mark.parametrize(
    ("edit", "linked"), [(trim, True), (trim, False), (edit_first, True)], ids=["trimmed", "no link", "edited"]
)
def test_a_history_that_was_changed(edit, linked):
    whole, requests = conversation(lambda said: said), conversation(edit)
    if not linked:
        requests = [replace(request, after=None) for request in requests]
    found = look(requests)
    assert kinds(found) == ["edited or trimmed history"]
    assert [r.body for r in found.mended][-1]["messages"][0] == whole[-1].body["messages"][0]
    assert found.breaks[0].ceiling_if_mended > ceiling(requests)
    for before, after in zip(found.mended, found.mended[1:]):
        said = before.body["messages"]
        assert after.body["messages"][: len(said)] == said


def test_what_is_moved_out_of_the_system_text_is_carried_by_later_turns():
    def dated(said):
        return [{**said[0], "content": f"Now: 2026-06-09 10:0{len(said)}\n{STABLE}"}, *said[1:]]

    requests = conversation(dated)
    found = look(requests)
    assert kinds(found) == ["time"]
    for before, after in zip(found.mended, found.mended[1:]):
        said = before.body["messages"]
        assert said[-1]["content"].count("Now:") == 1 and after.body["messages"][: len(said)] == said
    # The answers will be others, and are not counted as cached.
    assert all(request.reply["prompt_changed"] for request in found.mended)
    again = [replace(request, reply=requests[0].reply) for request in found.mended]
    assert ceiling(again) > ceiling(found.mended) == found.ceiling


def cut(message, length):
    return {**message, "content": message["content"][length:] if length > 3 else message["content"]}


def test_an_answer_that_is_not_the_one_that_was_given_does_not_count_as_cached():
    sound = conversation(lambda said: said)
    other = [Request(r.id, r.at, r.path, r.body, after=r.after, reply={"text_sha256": "0" * 64}) for r in sound]
    assert ceiling(other) < ceiling(sound)


def test_nothing_is_wrong_with_questions_that_differ():
    assert kinds(look([chat(f"r{n}", STABLE, question(n)) for n in range(N)])) == []


def test_the_requests_themselves_are_never_changed():
    requests = [chat(f"r{n}", f"Now: 2026-06-09 10:0{n}\n{STABLE}", question(n)) for n in range(N)]
    was = json.dumps([request.to_json() for request in requests])
    assert kinds(look(requests)) == ["time"]
    assert json.dumps([request.to_json() for request in requests]) == was


def test_worst_first():
    rows = [(f"It is 10:0{n}", f"b{n}") for n in range(N)]
    rows += [("", f"a{n}") for n in range(3)]
    requests = [chat(id, f"{head}\n{STABLE}" if head else STABLE, question(n), **salted(id))
                for n, (head, id) in enumerate(rows)]  # fmt: skip
    found = look(requests)
    assert kinds(found) == ["time", "salt"]
    assert found.breaks[0].gain > found.breaks[1].gain > 0


def salted(id):
    return {"cache_salt": id} if id.startswith("a") else {}


def test_quotes_are_safe_and_short():
    assert shown("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\u202eb\\n"
    assert len(shown("x" * 500)) == 80 and len(shown("\n" * 79)) == 80


def test_each_cause_in_the_hard_file(hard_prefixes):
    with opened(hard_prefixes, Options()) as (plan, _):
        requests = list(plan.requests())
    found = {one.kind: one for one in look(requests).breaks}
    assert set(found) == {"time", "uuid", "name", "reordered passages", "reordered JSON keys", "salt"}
    assert found["time"].where.startswith("message 0") and found["time"].requests == 4
    assert found["uuid"].quote.startswith("8712b46f-") and "Session:" in found["uuid"].where
    assert {found["name"].quote, found["name"].other} == {"galklm", "marta.keller"}
    assert found["reordered passages"].where.startswith("message 1 (user), character 0")
    assert found["reordered JSON keys"].where.startswith("tools")
    assert found["salt"].requests == 2
    assert not any(id.startswith("control") for one in found.values() for id in one.examples)
