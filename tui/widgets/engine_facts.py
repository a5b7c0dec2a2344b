"""What is known of the engine that serves, beside its levers: how it was started, and what it has."""

from textual.content import Content

from tui.session.snapshot import EngineView
from tui.widgets import figures
from tui.widgets.panel import words
from tui.widgets.plain import plain

Facts = tuple[tuple[str, str], ...]


def facts(engine: EngineView) -> Facts:
    """Name and value, known ones only."""
    started = ""
    if engine.start_kind and engine.start_s is not None:
        started = f"{plain(engine.start_kind, 12)}, {figures.seconds(engine.start_s)}"
    pool = "" if engine.kv_cache_tokens is None else f"{figures.count(engine.kv_cache_tokens)} tokens"
    block = "" if engine.block_size is None else f"{figures.count(engine.block_size)} tokens"
    url = plain(engine.url or "", 60).removeprefix("http://")
    found = (("start", started), ("KV pool", pool), ("block", block), ("address", url))
    return tuple((name, value) for name, value in found if value)


def rows(told: Facts, width: int) -> list[Content]:
    """A row each, as those of the levers."""
    return [_row(name, value, width) for name, value in told]


def _row(name: str, value: str, width: int) -> Content:
    room = width - 3 - len(name)
    shown = value if len(value) <= room else f"…{value[len(value) - room + 1 :]}"
    return words((f"  {name}", "$dim"), " " * max(1, width - 2 - len(name) - len(shown)), (shown, "$dim"))
