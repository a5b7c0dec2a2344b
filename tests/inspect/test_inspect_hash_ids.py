"""Traces of lengths and hash ids."""

import json
from pathlib import Path

import pytest

from tui.errors import VtuneError
from tui.session.inspection.inspect import Asked, inspect
from tui.traffic.inspect import hashed
from tui.traffic.recording import Request


def trace(tmp_path: Path, *rows: tuple[int, list[int]]) -> str:
    path = tmp_path / "trace.jsonl"
    lines = [json.dumps({"timestamp": 1000 * n, "input_length": tokens, "output_length": 5, "hash_ids": ids})
             for n, (tokens, ids) in enumerate(rows)]  # fmt: skip
    path.write_text("\n".join(lines))
    return str(path)


async def look(file, **more):
    return await inspect(Asked(file, **more), print)


async def test_the_ceiling_by_hand(tmp_path):
    file = trace(tmp_path, (1200, [1, 2, 3]), (1024, [1, 2]), (1536, [1, 2, 9]), (700, [7, 8]))
    result = await look(file)
    assert (result["tokens"], result["block_size"], result["requests"]) == ("hash-ids", 16, 4)
    # The second has two ids, but its last token is computed; the third shares two ids; the last none.
    assert result["ceiling"] == pytest.approx((1008 + 1024) / (1200 + 1024 + 1536 + 700))
    assert result["breaks"] == [] and result["prompt_tokens"]["max"] == 1536


async def test_at_the_traces_own_block_size_a_partial_block_is_not_shared(tmp_path):
    file = trace(tmp_path, (1200, [1, 2, 3]), (1200, [1, 2, 3]))
    assert (await look(file, block_size=512))["ceiling"] == pytest.approx(1024 / 2400)
    assert (await look(file))["ceiling"] == pytest.approx(1184 / 2400)
    assert (await look(file, block_size=1024))["ceiling"] == pytest.approx(1024 / 2400)


async def test_block_sizes_that_do_not_fit_are_refused(tmp_path):
    file = trace(tmp_path, (1200, [1, 2, 3]), (1200, [1, 2, 3]))
    with pytest.raises(VtuneError, match="block size of 100 does not fit"):
        await look(file, block_size=100)


async def test_rows_without_ids_share_nothing_and_are_counted(tmp_path):
    path = tmp_path / "lengths.jsonl"
    rows = [{"timestamp": n, "input_length": 600, "output_length": 1} for n in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = await look(str(path))
    assert result["ceiling"] == 0
    assert "no prefix information for 3 requests: they count as sharing nothing" in result["notes"]


async def test_there_is_no_text_to_rewrite(tmp_path):
    with pytest.raises(VtuneError, match="no text to rewrite"):
        await look(trace(tmp_path, (600, [1, 2]), (600, [1, 2])), rewrite=tmp_path / "new.jsonl")


def test_ids_of_two_spaces_are_not_the_same_tokens():
    def row(id, space):
        extra = {"prompt_tokens": 200, "block_size": 64, "hash_ids": [1, 2, 3], "hash_space": space}
        return hashed.row(Request(id, 0.0, "/v1/completions", {}, extra=extra), 64)

    assert row("a", "x").kept == row("b", "x").kept != row("c", "y").kept
