"""The looks stay readable with few colours, with none, for the colour-blind, and with wide characters."""

from dataclasses import replace
from itertools import combinations

import pytest
import scenes
from fake import FakeControls
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from test_dashboard_keys import text
from textual.color import Color as Rgb

from tui.app import VtuneApp
from tui.widgets import look
from tui.widgets.plain import shortened
from tui.widgets.request_bars import Bar, rows

TEXT = ("cold", "warm", "partial", "unknown", "prefill", "baseline", "mark", "dim", "border")
# How the three kinds of dichromats see a colour, after Vienot, Brettel and Mollon (1999), on linear RGB.
BLIND = {
    "protan": ((0.1124, 0.8876, 0.0), (0.1124, 0.8876, 0.0), (0.0040, -0.0040, 1.0)),
    "deutan": ((0.2928, 0.7072, 0.0), (0.2928, 0.7072, 0.0), (-0.0223, 0.0223, 1.0)),
}


def hexes(theme) -> dict[str, str]:
    own = {name: getattr(theme, name) for name in ("foreground", "success", "warning", "error", "primary")}
    return {**{name: theme.variables[name] for name in TEXT}, **own}


@pytest.mark.parametrize("theme", [look.DARK, look.LIGHT, look.SIXTEEN], ids=lambda theme: theme.name)
def test_text_stands_out_from_its_background(theme) -> None:
    background = Rgb.parse(theme.background)
    for name, shown in hexes(theme).items():
        assert _contrast(Rgb.parse(shown), background) >= 4.4, name


def test_sixteen_colours_lose_none_of_their_differences() -> None:
    black = Color.parse(look.SIXTEEN.background).downgrade(ColorSystem.STANDARD).number
    assert look.fitting("standard") == look.SIXTEEN.name and look.fitting("truecolor") == look.DARK.name
    shown = {**hexes(look.SIXTEEN), **{role: look.SIXTEEN.variables[role] for role in look.ROLES}}
    numbers = {name: Color.parse(one).downgrade(ColorSystem.STANDARD).number for name, one in shown.items()}
    assert black not in numbers.values()
    assert len({numbers[name] for name in ("cold", "warm", "partial", "unknown")}) == 4
    assert len({numbers[name] for name in ("prefill", "decode", "unknown")}) == 3


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("theme", [look.DARK, look.LIGHT], ids=lambda theme: theme.name)
def test_classes_stay_apart_for_the_colour_blind(theme, kind: str) -> None:
    seen = {name: _seen(Rgb.parse(theme.variables[name]), kind) for name in ("cold", "warm", "partial")}
    for one, other in combinations(seen, 2):
        assert sum(abs(a - b) for a, b in zip(seen[one], seen[other], strict=True)) > 0.12, (one, other)


async def test_without_colour_every_class_and_phase_has_a_glyph(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = VtuneApp(FakeControls(scenes.replaying()))
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        styles = {segment.style for strip in app.screen._compositor.render_strips() for segment in strip}
        screen = text(app)
    colours = [style.color.get_truecolor() for style in styles if style and style.color]
    assert all(colour.red == colour.green == colour.blue for colour in colours)
    for glyph, name in (("░", "cold"), ("▒", "partial"), ("█", "warm"), ("┄", "baseline"), ("█", "prefill")):
        assert f"{glyph} {name}" in screen
    assert "● ready" in screen and "▾" in screen


async def test_wide_characters_and_emoji_keep_the_columns() -> None:
    wide = "推論🚀の最適化を試す長い名前"
    runs = tuple(replace(run, label=f"{wide} {run.number}", verdict=wide) for run in scenes.runs(3))
    flying = tuple(one._replace(id=wide) for one in scenes.live().in_flight)
    live = replace(scenes.live(), recording=wide, in_flight=flying)
    levers = tuple(replace(lever, title=wide, gain=wide) for lever in scenes.LEVERS)
    snapshot = scenes.replaying(runs=runs, run=live, levers=levers, profile=wide)
    for size in [(40, 10), (80, 24), (120, 36), (160, 48)]:
        app = VtuneApp(FakeControls(snapshot))
        async with app.run_test(size=size) as pilot:
            for key in ("1", "5", "6", "7"):
                await pilot.press(key)
                await pilot.pause()
                assert {cell_len(line) for line in text(app).split("\n")} == {size[0]}


def test_names_of_requests_align_whatever_their_script() -> None:
    bars = [Bar(name, 1.0, 2.0, 3.0, 9.0, "ok") for name in ("r1", "要求二", "🚀🚀🚀🚀🚀🚀🚀🚀🚀", "x" * 40)]
    lines = rows(bars, 10.0, 60, 8)
    starts = {cell_len(line.plain[: line.plain.index("▒")]) for line in lines}
    assert len(starts) == 1 and {cell_len(line.plain) for line in lines} == {60}


def test_a_long_name_is_cut_after_a_word() -> None:
    assert shortened("baseline, prefix-caching off", 22) == "baseline…"
    assert shortened("x" * 40, 8) == "xxxxxxx…"
    assert shortened("推論の最適化", 7) == "推論の…"
    assert shortened("fits", 4) == "fits"


def _contrast(one: Rgb, other: Rgb) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Rgb) -> float:
    """Relative luminance of WCAG 2."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _linear(colour: Rgb) -> list[float]:
    parts = (colour.r / 255, colour.g / 255, colour.b / 255)
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _seen(colour: Rgb, kind: str) -> list[float]:
    linear = _linear(colour)
    return [sum(weight * part for weight, part in zip(row, linear, strict=True)) for row in BLIND[kind]]
