"""The KV panel in numbers, where there is room for them: a label and what is known, a line each."""

from textual.content import Content

from tui.session.kv_picture import KvPicture, LostPrefix
from tui.widgets import figures
from tui.widgets.panel import words
from tui.widgets.plain import plain

_LABEL = 13
QUOTE = 48
MOST_LOST = 3
WORTH_TELLING = 0.01  # of the prompt tokens


def rows(shown: KvPicture) -> list[Content]:
    """Nothing is shown that is not known."""
    found = [
        ("pool", _blocks(shown)),
        ("last blocks", _partial(shown)),
        ("room", _room(shown)),
        ("would hold", " · ".join(f"{setting} {figures.count(tokens)}" for setting, tokens in shown.would_hold)),
        ("this setting", _predicted(shown)),
        ("recycled", _recycled(shown)),
        ("asked again", _again(shown)),
        *(("", _lost(one)) for one in shown.lost[:MOST_LOST]),
        ("turns", _turns(shown)),
        ("engines", _engines(shown)),
    ]
    lines = [words((f"{label:<{_LABEL}}", "$dim"), text) for label, text in found if text]
    share = _lost_soon(shown)
    if share is None:
        return lines
    more = "of the prompt tokens were asked for soon after they were evicted"
    return [words((f"{'thrashing':<{_LABEL}}", "bold $warning"), f"{figures.percent(share)} {more}"), *lines]


def thrashing(shown: KvPicture) -> Content | None:
    """One short line where prefixes are asked for soon after they were evicted; None where they are not."""
    share = _lost_soon(shown)
    if share is None:
        return None
    return words(("thrashing ", "bold $warning"), f"{figures.percent(share)} of prompts lost too soon")


def _lost_soon(shown: KvPicture) -> float | None:
    soon, whole = shown.evicted_soon_tokens, shown.prompt_tokens
    return soon / whole if soon and whole and soon >= WORTH_TELLING * whole else None


def _blocks(shown: KvPicture) -> str:
    if shown.blocks is None:
        return ""
    used = [] if shown.used_now is None else [f"{figures.count(shown.used_now)} held now"]
    used += [] if shown.used_peak is None else [f"at most {figures.count(shown.used_peak)}"]
    size = f"{figures.count(shown.blocks)} blocks of {shown.block_size} tokens"
    return " · ".join([size, *used, "cached ones that nobody holds are free"])


def _partial(shown: KvPicture) -> str:
    if shown.partial_share is None:
        return ""
    return f"{figures.percent(shown.partial_share)} of the sequences' blocks stayed empty"


def _room(shown: KvPicture) -> str:
    if shown.at_once is None or shown.longest_fit is None:
        return ""
    fit = f"{shown.at_once} at a time may have {figures.count(shown.longest_fit)} tokens each"
    return fit if shown.longest_seen is None else f"{fit} · the longest had {figures.count(shown.longest_seen)}"


def _predicted(shown: KvPicture) -> str:
    if shown.predicted is None:
        return ""
    worked, reported = shown.predicted
    return f"{figures.count(worked)} tokens worked out before the restart · {figures.count(reported)} reported"


def _recycled(shown: KvPicture) -> str:
    if shown.recycled_blocks is None:
        return ""
    if not shown.recycled_blocks:
        return "no sampled block"
    parts = [
        f"{figures.count(shown.recycled_blocks)} sampled blocks",
        f"lived {figures.seconds(shown.lifetime_s)}",
        f"idle {figures.seconds(shown.idle_s)} at the end",
    ]
    if shown.reuse_gap_s is not None:
        parts.append(f"{figures.seconds(shown.reuse_gap_s)} between uses")
    return " · ".join(parts)


def _again(shown: KvPicture) -> str:
    if not shown.evicted_tokens:
        return ""
    soon = figures.count(shown.evicted_soon_tokens)
    return f"{figures.count(shown.evicted_tokens)} tokens after eviction · {soon} of them twice the pool would keep"


def _lost(one: LostPrefix) -> str:
    name = f"“{plain(one.quote, QUOTE)}”" if one.quote else "a prefix"
    times = "once" if one.asked == 1 else f"{one.asked}x"
    return (
        f"{name} {times}, first by {plain(one.asked_by, 16)}, {figures.seconds(one.idle_s)} after "
        f"{plain(one.last_used_by, 16)} · {figures.count(one.lost_tokens)} tokens"
    )


def _turns(shown: KvPicture) -> str:
    return " · ".join(
        f"{turn}: {figures.percent(cached / prompt)} cached, {figures.percent(before / prompt)} by turn {turn - 1}"
        for turn, prompt, cached, before in shown.turns
        if prompt
    )


def _engines(shown: KvPicture) -> str:
    if not shown.engines:
        return ""
    first, *rest = (f"{plain(one.engine, 8)} peak {figures.percent(one.usage_peak)}" for one in shown.engines)
    return " · ".join([f"fullest {first}", *rest])
