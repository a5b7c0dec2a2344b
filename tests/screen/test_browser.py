"""The dashboard in a browser, by textual-serve: drawn in its colours, and it takes keys."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import Browser, Pixel, colours

from tui.widgets import look

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in _NAMES if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
    pytest.mark.skipif(find_spec("textual_serve") is None, reason="textual-serve is not installed"),
    pytest.mark.timeout(180),
]
_SERVE = "import sys; from textual_serve.server import Server; Server(sys.argv[1], port=int(sys.argv[2])).serve()"


@pytest.fixture
def served():
    """The URL of a server whose visitors each get a dashboard on a made-up session."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = f"{sys.executable} {Path(__file__).with_name('fake.py')} 10"
    server = subprocess.Popen([sys.executable, "-c", _SERVE, command, str(port)], stdout=subprocess.DEVNULL)
    yield f"http://localhost:{port}"
    server.terminate()
    server.wait()


async def test_it_is_drawn_and_takes_keys_in_a_browser(served, tmp_path) -> None:
    browser = Browser(str(CHROMIUM), tmp_path / "profile")
    try:
        await browser.open(served)
        await browser.until("Levers")
        await browser.until("● ready")
        await browser.click(700, 8)  # the header: the page has the keys from then on
        await browser.press("r")
        await browser.until("in flight")
        await browser.until("warm")
        found = await _coloured(browser, look.DARK.variables["warm"], tmp_path / "browser.png")
        background = _rgb(look.DARK.background)
        assert found[background] > sum(found.values()) / 3
        assert found[_rgb(look.DARK.primary)]
    finally:
        await browser.close()


async def _coloured(browser: Browser, colour: str, picture: Path) -> Counter[Pixel]:
    """The colours of the page once `colour` is among them: requests turn warm as the replay goes on."""
    for _ in range(60):
        picture.write_bytes(await browser.screenshot())
        found = colours(picture.read_bytes())
        if found[_rgb(colour)]:
            return found
        await asyncio.sleep(0.5)
    raise AssertionError(f"{colour} is not on the page: see {picture}")


def _rgb(colour: str | None) -> tuple[int, int, int]:
    assert colour is not None
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
