"""The pictures of the docs show the app as it is now: each is drawn again from the kept session and compared."""

import gzip
import hashlib
import json
import re
import struct
import sys
from html import unescape
from importlib.metadata import version
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import pictures  # noqa: E402

AGAIN = "draw them again: .venv/bin/python docs/pictures.py --again"
_TEXT = re.compile(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')


def lines(svg: str) -> list[str]:
    """The rows of the terminal in a picture, as text."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, text in _TEXT.findall(svg):
        rows.setdefault(float(y), []).append((float(x), unescape(text)))
    return ["".join(text for _, text in sorted(row)) for _, row in sorted(rows.items())]


@pytest.mark.skipif(not version("textual").startswith("8.2."), reason="drawn with Textual 8.2")
@pytest.mark.parametrize("name", pictures.PICTURES)
async def test_a_picture_shows_the_layout_of_today(name: str) -> None:
    kept = (DOCS / f"{name}.svg").read_text()
    assert lines(await pictures.drawn(name, pictures.kept())) == lines(kept), AGAIN


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_png_is_of_the_svg(name: str) -> None:
    svg, png = (DOCS / f"{name}.svg").read_bytes(), (DOCS / f"{name}.png").read_bytes()
    assert hashlib.sha256(svg).hexdigest().encode() in png, AGAIN
    width, height = struct.unpack(">II", png[16:24])
    assert width > 600 and height > 300


def test_the_cast_is_of_this_app_and_of_no_particular_machine() -> None:
    header, *events = (json.loads(line) for line in pictures.CAST.read_text().splitlines())
    assert header["version"] == 2 and (header["width"], header["height"]) == (120, 36)
    times = [at for at, kind, _ in events if kind == "o"]
    assert times == sorted(times) and times[-1] < 120
    shown = "".join(text for _, _, text in events)
    for title in ("Levers", "TTFT", "KV cache", "Prefix hits", "Acceptance", "Requests", "Runs", "● ready"):
        assert title in shown, f"{title} is not in the cast; make it again on a real engine: docs/pictures.py"
    with gzip.open(pictures.JOURNAL, "rt") as file:
        journal = file.read()
    for text in (shown, journal):
        assert str(DOCS.parent) not in text and "/root" not in text and "/tmp/" not in text


def test_a_disguised_line_is_as_long_as_before() -> None:
    line = f"loading {Path.home()}/.cache/model from {DOCS.parent}/x"
    assert len(pictures.disguised(line)) == len(line) and str(Path.home()) not in pictures.disguised(line)
