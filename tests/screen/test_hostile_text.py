"""Text from outside is shown as text and changes nothing else: escapes, markup, bidi controls, NUL, endless lines."""

import unicodedata
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import scenes
from fake import FakeControls

from tui.app import VtuneApp
from tui.session.snapshot import Failure, Notice, RecorderView, Snapshot

EVIL = {
    "escapes": "\x1b[2J\x1b[31mred\x1b[0m\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x9b5m end",
    "markup": "[bold red]bold[/] [link=http://x]l[/link] [@click=app.quit]q[/] $error",
    "bidi": "\u202etxt.exe\u202c \u2066a\u2069 \u200fb\u200e",
    "controls": "nul\x00 bell\x07 back\x08 cr\rlf\ntab\tvt\x0b del\x7f",
    "endless": "x" * 10_000,
    "wide": "漢字🙂" * 300 + "e\u0301\u0301\u0301",
    "surrogate": "\ud800 broken",
}
# What is one of a few words of ours, not text from outside.
_OURS = {"state", "start_kind", "group", "level", "reuse", "status", "pace", "prefix_state", "speculative_state"}


def poisoned(value: Any, evil: str, name: str = "") -> Any:
    """`value` with `evil` in every text of it."""
    if isinstance(value, str):
        return value if name in _OURS else f"{evil} {value}"
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*(poisoned(one, evil, field) for field, one in zip(value._fields, value, strict=True)))
    if isinstance(value, tuple):
        return tuple(poisoned(one, evil, name) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: poisoned(getattr(value, f.name), evil, f.name) for f in fields(value) if f.name != "result"}
        return replace(value, **changes)
    return value


def rows(app: VtuneApp) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def harmless(app: VtuneApp, size: tuple[int, int]) -> None:
    """Nothing that a terminal would act on, every row exactly as wide as the screen."""
    for strip in app.screen._compositor.render_strips():
        assert strip.cell_length == size[0]
        for segment in strip:
            bad = [c for c in segment.text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
            assert not bad, (bad, segment.text)
            assert segment.style is None or segment.style.link is None


def scene(kind: str) -> Snapshot:
    failure = Failure("it failed", "mend it")
    made = {
        "compared": scenes.compared(notices=(Notice(scenes.NOW, "error", "what", "mend"),)),
        "replaying": scenes.replaying(recorder=RecorderView("on", "http://127.0.0.1:1", "/x/y.jsonl", scenes.NOW, 3)),
        "failed": replace(scenes.failed(), engine=scenes.engine(state="failed", since=scenes.NOW, failure=failure)),
        "mismatched": scenes.mismatched(),
        "starting": scenes.starting(),
    }
    return made[kind]


@pytest.mark.parametrize("name", EVIL)
async def test_no_text_of_a_snapshot_reaches_the_terminal_as_more_than_text(name: str, tmp_path: Path) -> None:
    log = tmp_path / "engine-1.log"
    log.write_bytes(f"{EVIL[name]}\nERROR {EVIL[name]}\n".encode("utf-8", "surrogatepass"))
    app = VtuneApp(FakeControls())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for kind in ("compared", "replaying", "failed", "mismatched", "starting"):
            snapshot = poisoned(scene(kind), EVIL[name])
            snapshot = replace(snapshot, engine=replace(snapshot.engine, log_path=log))
            app._controls.push(snapshot)
            await pilot.pause()
            harmless(app, (120, 36))
            # The frame of the screen is where it was.
            shown = rows(app)
            assert shown[0].startswith(" vtune") and "^p palette" in shown[-1] and len(shown) == 36
        for keys in (["y"], ["escape", "6", "y"], ["escape", "l"], ["f"], ["escape", "question_mark"]):
            await pilot.press(*keys)
            await pilot.pause()
            harmless(app, (120, 36))


@pytest.mark.parametrize("name", EVIL)
async def test_a_log_shows_it_as_text_too(name: str, tmp_path: Path) -> None:
    log = tmp_path / "engine-1.log"
    log.write_bytes(f"{EVIL[name]}\nlast line\n".encode("utf-8", "surrogatepass"))
    app = VtuneApp(FakeControls(scenes.ready(engine=scenes.engine(log_path=log))))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l")
        await pilot.pause()
        harmless(app, (80, 24))
        shown = "\n".join(rows(app))
        assert "last line" in shown
        if name == "markup":
            assert "[bold red]bold[/]" in shown
        await pilot.press("end", "right", "right", "slash", "x", "enter", "y")
        await pilot.pause()
        harmless(app, (80, 24))
