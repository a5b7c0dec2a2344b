"""The looks by roles: two themes of our own, and the roles' colours under any other theme.

Cold and warm are sky blue and orange, partial is purple: pairs that stay apart for the common kinds of colour
blindness (after M. Okabe and K. Ito, "Color Universal Design"). Each role also has a glyph of its own, so that
nothing depends on colour.
"""

from textual.theme import Theme

GLYPHS: dict[str, str] = {"cold": "░", "partial": "▒", "warm": "█", "unknown": "·"}
"""Fill of each reuse class in plots, legends and tables."""

ROLES = (
    "cold", "warm", "partial", "unknown", "hits", "used", "prefill", "decode", "baseline", "mark", "dim", "faint",
)  # fmt: skip
"""What our own themes name and others do not."""

DARK = Theme(
    name="vtune-dark",
    dark=True,
    primary="#5fb3e8",
    secondary="#8f9bb3",
    accent="#7cc5f0",
    foreground="#d7dde8",
    background="#10141b",
    surface="#161b24",
    panel="#1d2430",
    success="#58c48c",
    warning="#ecc94b",
    error="#ff7a6b",
    variables={
        "cold": "#5fb3e8",
        "warm": "#f0a132",
        "partial": "#cf8fc0",
        "hits": "#b9802f",
        "used": "#8aa2f2",
        "prefill": "#45c8b0",
        "decode": "#2b7d74",
        "unknown": "#8f9bb3",
        "baseline": "#eef2f8",
        "mark": "#ecc94b",
        "dim": "#8490a5",
        "faint": "#465065",
        "border": "#5fb3e8",
        "border-blurred": "#2c3646",
        "footer-key-foreground": "#7cc5f0",
        "footer-background": "#161b24",
        "block-cursor-background": "#26405a",
        "block-cursor-foreground": "#eef2f8",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#1d2430",
        "scrollbar": "#465065",
        "scrollbar-background": "#161b24",
        "scrollbar-corner-color": "#161b24",
        "block-cursor-blurred-foreground": "#d7dde8",
    },
)

LIGHT = Theme(
    name="vtune-light",
    dark=False,
    primary="#0b6aa8",
    secondary="#5a6475",
    accent="#0b6aa8",
    foreground="#1c2430",
    background="#f6f7f9",
    surface="#eceff3",
    panel="#e2e6ec",
    success="#0a7d52",
    warning="#8a6100",
    error="#b93222",
    variables={
        "cold": "#0b6aa8",
        "warm": "#b54e00",
        "partial": "#8c4a82",
        "hits": "#d08a4e",
        "used": "#3d55b8",
        "prefill": "#00806b",
        "decode": "#67b3a4",
        "unknown": "#5a6475",
        "baseline": "#000000",
        "mark": "#8a6100",
        "dim": "#5a6475",
        "faint": "#b4bcc8",
        "border": "#0b6aa8",
        "border-blurred": "#c3cad5",
        "footer-key-foreground": "#0b6aa8",
        "footer-background": "#e2e6ec",
        "block-cursor-background": "#cfe2f2",
        "block-cursor-foreground": "#10161f",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#e2e6ec",
        "scrollbar": "#b4bcc8",
        "scrollbar-background": "#eceff3",
        "scrollbar-corner-color": "#eceff3",
        "block-cursor-blurred-foreground": "#1c2430",
    },
)


SIXTEEN = Theme(
    name="vtune-16",
    dark=True,
    primary="#55ffff",
    secondary="#aaaaaa",
    accent="#55ffff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    success="#55ff55",
    warning="#ffff55",
    error="#ff5555",
    variables={
        "cold": "#55ffff",
        "warm": "#ffff55",
        "partial": "#ff55ff",
        "unknown": "#aaaaaa",
        "hits": "#aa5500",
        "used": "#5555ff",
        "prefill": "#55ff55",
        "decode": "#00aa00",
        "baseline": "#ffffff",
        "mark": "#ffff55",
        "dim": "#aaaaaa",
        "faint": "#555555",
        "border": "#55ffff",
        "border-blurred": "#555555",
        "footer-key-foreground": "#55ffff",
        "footer-background": "#000000",
        "block-cursor-background": "#0000aa",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#000000",
        "scrollbar": "#aaaaaa",
        "scrollbar-background": "#000000",
        "scrollbar-corner-color": "#000000",
        "block-cursor-blurred-foreground": "#ffffff",
    },
)
"""For terminals of sixteen colours: these are exactly those, for what lies between would turn into the background."""


def fitting(color_system: str | None) -> str:
    """The theme to begin with, by what rich found the terminal to be able to show."""
    return SIXTEEN.name if color_system in ("standard", "windows") else DARK.name


def role_defaults(theme: Theme) -> dict[str, str]:
    """Our roles' colours under a theme that does not name them."""
    own = (DARK if theme.dark else LIGHT).variables
    roles = {name: own[name] for name in ROLES}
    if theme.foreground:
        roles["baseline"] = theme.foreground
    return roles
