"""The KV panel in numbers: what is known, nothing else, and harmless whatever the prompts say."""

from dataclasses import replace

import scenes

from tui.session.kv_picture import EnginePart, KvPicture, LostPrefix
from tui.widgets import kv_rows
from tui.widgets.acceptance import Acceptance
from tui.widgets.kv import KvCache

FULL = KvPicture(
    tokens=4224, block_size=128, blocks=33, used_now=3, used_peak=31, partial_share=0.058, at_once=4,
    longest_fit=1024, longest_seen=4344, would_hold=(("kv-dtype=fp8", 8448), ("block-size=32", 4224)),
    predicted=(8448, 8448), recycled_blocks=211, lifetime_s=41.0, idle_s=32.0, reuse_gap_s=12.0, prompt_tokens=50_000,
    evicted_tokens=12_000, evicted_soon_tokens=9_000,
    lost=(LostPrefix("Travel costs\x1b[31m are [red]paid", 7, "r03", "r01", 8_960, 8.1),),
    turns=((2, 3000, 1500, 900),), engines=(EnginePart("1", 0.98, 900), EnginePart("0", 0.12, 100)),
)  # fmt: skip


def text(lines) -> str:
    return "\n".join(line.plain for line in lines)


def test_every_figure_has_its_words():
    assert text(kv_rows.rows(FULL)).split("\n") == [
        "thrashing    18 % of the prompt tokens were asked for soon after they were evicted",
        "pool         33 blocks of 128 tokens · 3 held now · at most 31 · cached ones that nobody holds are free",
        "last blocks  5.8 % of the sequences' blocks stayed empty",
        "room         4 at a time may have 1,024 tokens each · the longest had 4,344",
        "would hold   kv-dtype=fp8 8,448 · block-size=32 4,224",
        "this setting 8,448 tokens worked out before the restart · 8,448 reported",
        "recycled     211 sampled blocks · lived 41.0 s · idle 32.0 s at the end · 12.0 s between uses",
        "asked again  12,000 tokens after eviction · 9,000 of them twice the pool would keep",
        "             “Travel costs are [red]paid” 7x, first by r03, 8.10 s after r01 · 8,960 tokens",
        "turns        2: 50 % cached, 30 % by turn 1",
        "engines      fullest 1 peak 98 % · 0 peak 12 %",
    ]


def test_what_is_not_known_has_no_row():
    assert kv_rows.rows(KvPicture()) == []
    assert text(kv_rows.rows(KvPicture(recycled_blocks=0))) == "recycled     no sampled block"


def test_a_large_panel_has_numbers_and_a_small_one_only_the_alarm():
    seen = replace(scenes.metrics(), kv=FULL)
    panel = KvCache(id="kv")
    view = panel.view(scenes.ready(metrics=seen))
    large, small = text(panel.draw(view, 100, 30)), text(panel.draw(view, 58, 10))
    assert large.index("33 blocks of 128 tokens") < large.index("0:30")  # the numbers first
    assert "33 blocks" not in small and "thrashing 18 % of prompts lost too soon" in small
    assert len(panel.draw(view, 100, 30)) <= 30 and len(panel.draw(view, 58, 10)) <= 10
    calm = panel.view(scenes.ready(metrics=replace(seen, kv=replace(FULL, evicted_soon_tokens=0))))
    assert "thrashing" not in text(panel.draw(calm, 58, 10))


def test_the_acceptance_panel_says_what_mean_length_leaves_out_and_what_a_draft_costs():
    panel = Acceptance(id="acceptance")

    def shown(height: int, **changes) -> str:
        seen = replace(scenes.metrics(speculation=True), **changes)
        return text(panel.draw(panel.view(scenes.ready(metrics=seen)), 90, height))

    assert "mean length leaves out steps without a proposal" in shown(24)
    assert "mean length leaves out" not in shown(9)
    drafted = shown(24, speculative_method="draft-model:bundled:x:3", draft_kv_tokens=7_808)
    assert "costs 7,808 tokens of the pool" in drafted and "leaves out" not in drafted
    off = replace(scenes.metrics(), copied_share=0.38)
    assert "38 % of the answers' words" in text(panel.draw(panel.view(scenes.ready(metrics=off)), 60, 9))
