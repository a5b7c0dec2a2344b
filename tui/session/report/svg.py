"""A small writer of SVG: the same calls give the same bytes, and the picture brings its own background and text.

It is looked at on GitHub as an image, on light pages and dark ones: colours are named by role, and a dark set is
chosen by the reader's preference; the card is opaque, so that either set is readable on either page.
"""

from xml.sax.saxutils import escape

from tui.session.report.markdown import visible

LIGHT = {
    "card": "#ffffff", "edge": "#d1d9e0", "text": "#1f2328", "dim": "#59636e", "grid": "#e3e8ed",
    "cold": "#0b6aa8", "partial": "#8c4a82", "warm": "#c25400", "unknown": "#6b7480", "kv": "#2f7d4f",
    "rate": "#59636e",
}  # fmt: skip
DARK = {
    "card": "#0d1117", "edge": "#3d444d", "text": "#f0f6fc", "dim": "#9198a1", "grid": "#21262d",
    "cold": "#5fb3e8", "partial": "#cf8fc0", "warm": "#f0a132", "unknown": "#9aa4b2", "kv": "#58c48c",
    "rate": "#9198a1",
}  # fmt: skip
_FONT = "12px -apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
CHARACTER = 6.6
"""About the width of a character of that font, px: text is placed by it, never measured."""


class Svg:
    """`title` is read out by a screen reader; every colour is a role."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, role: str) -> None:
        if width > 0 and height > 0:
            self._parts.append(
                f'<rect class="{role}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>'
            )

    def line(self, x1: float, y1: float, x2: float, y2: float, role: str) -> None:
        self._parts.append(f'<path class="s {role}-s" d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}"/>')

    def path(self, points: list[tuple[float, float]], role: str, dashes: str = "") -> None:
        """One line through `points`."""
        if len(points) > 1:
            words = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            self._parts.append(f'<path class="l {role}-s" d="M{words}"{dashed}/>')

    def area(self, points: list[tuple[float, float]], floor: float, role: str) -> None:
        if len(points) > 1:
            words = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            first, last = points[0][0], points[-1][0]
            self._parts.append(f'<path class="a {role}" d="M{_n(first)} {_n(floor)}L{words}L{_n(last)} {_n(floor)}Z"/>')

    def text(self, x: float, y: float, words: str, role: str = "text", anchor: str = "start", bold: bool = False,
             room: float | None = None) -> None:  # fmt: skip
        """`words` may come from outside; with `room` (px) they are cut to about that."""
        line = visible(words)
        if room is not None and len(line) * CHARACTER > room:
            line = line[: max(1, int(room / CHARACTER) - 1)] + "…"
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(f'<text class="{role}" x="{_n(x)}" y="{_n(y)}"{where}{weight}>{escape(line)}</text>')

    def __str__(self) -> str:
        width, height, inner = _n(self.width), _n(self.height), (_n(self.width - 1), _n(self.height - 1))
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        card = f'<rect class="card" x="0.5" y="0.5" width="{inner[0]}" height="{inner[1]}" rx="6"/>'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>',
            f"<title>{escape(visible(self._title))}</title>",
            f"<style>{_style()}</style>", card, *self._parts, "</svg>", "",
        ])  # fmt: skip


def _style() -> str:
    fixed = f"text{{font:{_FONT}}}.s{{fill:none;stroke-width:1}}.l{{fill:none;stroke-width:1.8}}.a{{fill-opacity:.22}}"
    return f"{fixed}{_roles(LIGHT)}@media(prefers-color-scheme:dark){{{_roles(DARK)}}}"


def _roles(colours: dict[str, str]) -> str:
    card = f".card{{fill:{colours['card']};stroke:{colours['edge']}}}"
    fills = "".join(f".{role}{{fill:{value}}}" for role, value in colours.items() if role not in ("card", "edge"))
    return card + fills + "".join(f".{role}-s{{stroke:{value}}}" for role, value in colours.items() if role != "card")


def _n(value: float) -> str:
    """At most one decimal, never ``-0``."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
