"""Make the pictures of the README from a real session on the real engine: ``.venv/bin/python docs/pictures.py``.

Runs the demo profile through prefix caching on and off with the first requests of the shipped recording, and
writes what the screen shows as SVG beside this file.
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from tui.app import VtuneApp
from tui.engine import profile
from tui.session.late import LateSession
from tui.session.traffic import traffic_of

REQUESTS = 14
SIZE = (160, 46)
HERE = Path(__file__).parent


async def until(pilot, wanted) -> None:
    while not wanted(pilot.app._newest):
        if pilot.app._newest.engine.state in ("failed", "died"):
            raise SystemExit(str(pilot.app._newest.engine.failure))
        if not pilot.app.is_running:
            raise SystemExit("the app has ended")
        await pilot.pause(0.1)


async def picture(pilot, name: str) -> None:
    await pilot.pause(0.5)
    # A picture that fetches its font from somewhere is no picture: the reader's own monospace font will do.
    drawn = re.sub(r',\s*url\("https?://[^"]*"\) format\("[^"]*"\)', "", pilot.app.export_screenshot(title="vtune"))
    (HERE / f"{name}.svg").write_text(drawn)
    print(f"{name}.svg", file=sys.stderr)


async def main() -> None:
    demo = profile.load("demo")
    with tempfile.TemporaryDirectory() as folder:
        traffic = traffic_of(demo, "rag-handbook", pace="closed:2", limit=REQUESTS)
        app = VtuneApp(LateSession(demo, traffic, Path(folder) / "session"))
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda s: s.engine.state == "ready")
            await pilot.press("space")
            await until(pilot, lambda s: bool(s.pending))
            await pilot.press("a")
            await until(pilot, lambda s: s.engine.state == "ready" and not s.pending)
            await pilot.press("r")
            await until(pilot, lambda s: len(s.runs) == 1)
            await pilot.press("space")
            await until(pilot, lambda s: bool(s.pending))
            await pilot.press("a")
            await until(pilot, lambda s: s.engine.state == "ready" and not s.pending)
            await pilot.press("r")
            await until(pilot, lambda s: s.run is not None and s.run.ok >= REQUESTS - 3)
            await picture(pilot, "replaying")
            await until(pilot, lambda s: len(s.runs) == 2)
            await picture(pilot, "dashboard")
            await pilot.press("q")
            while app.is_running:
                await pilot.pause(0.1)


if __name__ == "__main__":
    asyncio.run(main())
