"""Make the pictures of the README and docs/ from a real session: ``.venv/bin/python docs/pictures.py``.

Runs vtune in a terminal on the demo profile, through prefix caching off and on with the first requests of the shipped
recording. The session's journal is kept (`session.jsonl.gz`, without the folders of the machine), and the pictures are
drawn of moments in it: as SVG, and as PNG where resvg is installed (`pip install .[pictures]`). `vtune.cast` is its
second run, played by `vtune open`. ``--again`` makes them all from the kept journal, without an engine: that is what
to do when the layout has changed. ``--session DIR`` keeps another session's journal. A test compares.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import re
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tui.app import VtuneApp
from tui.session import views
from tui.session.snapshot import Snapshot
from tui.session.state import State

REQUESTS = 12
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
JOURNAL = HERE / "session.jsonl.gz"
CAST = HERE / "vtune.cast"


def _replaying(state: State) -> bool:
    run = state.runs.get(2)
    return run is not None and run.state == "running" and len(run.finished) >= run.total - 3


def _ended(state: State) -> bool:
    return 2 in state.runs and state.runs[2].state == "done"


PICTURES: dict[str, tuple[Callable[[State], bool], tuple[int, int], tuple[str, ...]]] = {
    "dashboard": (_ended, (160, 46), ()),
    "replaying": (_replaying, (160, 46), ()),
    "small": (_ended, (80, 24), ("1",)),
    "requests": (_replaying, (80, 24), ("7",)),
}
"""name -> (the moment of the session, the terminal's size, keys pressed)"""


class Still:
    """The controls of a session of which one picture is shown."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def subscribe(self, listener: Callable[[Snapshot], None]) -> None:
        listener(self._snapshot)

    async def start(self) -> None: ...

    async def close(self) -> None: ...


def moment(events: Iterable[dict[str, Any]], wanted: Callable[[State], bool]) -> Snapshot:
    """The session when it is first as wanted."""
    header, *rest = events
    state, seen_at = State(header=header), None
    for event in rest:
        state.apply(event)
        seen_at = event["t"] if event["e"] == "scrape" else seen_at
        if wanted(state):
            return views.snapshot(state, Path("session"), event["t"], seen_at)
    raise SystemExit("the session never came there")


def kept() -> list[dict[str, Any]]:
    with gzip.open(JOURNAL, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


async def drawn(name: str, events: list[dict[str, Any]]) -> str:
    """The picture as SVG. A picture that fetches its font from somewhere is none: the reader's own will do."""
    wanted, size, keys = PICTURES[name]
    app = VtuneApp(Still(moment(events, wanted)))  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause(0.2)
        svg = app.export_screenshot(title="vtune")
    svg = re.sub(r',\s*url\("https?://[^"]*"\) format\("[^"]*"\)', "", svg)
    return re.sub(r"terminal-\d+-", f"{name}-", svg)


def write(name: str, svg: str) -> None:
    path = HERE / f"{name}.svg"
    path.write_text(svg)
    print(path.name, file=sys.stderr)
    try:
        import resvg_py
    except ImportError:
        print(f"{name}.png is left as it was: resvg is not installed", file=sys.stderr)
        return
    mono = svg.replace("Fira Code", "DejaVu Sans Mono")
    png = bytes(resvg_py.svg_to_bytes(svg_string=mono, font_dirs=["/usr/share/fonts"]))
    path.with_suffix(".png").write_bytes(labelled(png, hashlib.sha256(svg.encode()).hexdigest()))


def labelled(png: bytes, source: str) -> bytes:
    """`png` with a text chunk that says of which SVG it is."""
    text = b"Source\0" + source.encode()
    chunk = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
    at = 8 + 25  # the signature and IHDR
    return png[:at] + chunk + png[at:]


def disguised(text: str) -> str:
    """Without the folders of this machine; as long as before, for a terminal's lines are counted."""
    for place in sorted({str(ROOT), str(ROOT.parent), str(Path.home()), tempfile.gettempdir()}, key=len, reverse=True):
        if len(place) > 1:
            text = text.replace(place, "/" + ("home/ada/vtune/" * 9)[: len(place) - 1])
    return text


def session(folder: Path, profile: str = "demo") -> None:
    """The real thing, about two minutes: prefix caching off, then on."""
    from cast import Cast

    def serves(caching: str) -> Callable[[State], bool]:
        def wanted(state: State) -> bool:
            engine = state.engine
            return engine is not None and engine.state == "ready" and engine.asked.get("prefix-caching") == caching

        return wanted

    live = Cast(profile, "--pace", "closed:2", "--limit", str(REQUESTS), "--session", str(folder))
    try:
        live.told(folder, serves("on"))
        for number, caching in ((1, "off"), (2, "on")):
            live.press(" ")
            live.told(folder, lambda state: bool(state.pending))
            live.press("a")
            live.told(folder, serves(caching))
            live.press("r")
            live.told(folder, lambda state, n=number: n in state.runs and state.runs[n].state == "done")
        live.press("q")
        live.wait()
    finally:
        if live.process.poll() is None:
            live.process.terminate()
            live.process.wait()
        live.close()


def keep(folder: Path) -> None:
    """The journal of the session in `folder`, up to where the pictures are of, without what is this machine's."""
    header, *lines = (folder / "journal.jsonl").read_text().splitlines()
    told = {key: value for key, value in json.loads(header).items() if key != "host"}
    state, rows = State(header=told), [json.dumps({**told, "session": "session"})]
    for line in lines:
        state.apply(json.loads(line))
        rows.append(disguised(line.replace(str(folder), "session")))
        if _ended(state):
            break
    with gzip.GzipFile(JOURNAL, "wb", mtime=0) as file:
        file.write(("\n".join(rows) + "\n").encode())


def cast() -> None:
    """The second run as `vtune open` plays it, eight times as fast."""
    from cast import Cast

    with tempfile.TemporaryDirectory(prefix="vtune-") as place:
        folder = Path(place) / "session"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(gzip.decompress(JOURNAL.read_bytes()))
        whole = moment(kept(), _ended)
        player = Cast("open", str(folder))
        try:
            player.until("REOPENED")
            player.wait_for(2.0)
            for key in ("[", "+", "+", "+"):
                player.press(key)
                player.wait_for(0.5)
            player.record()
            player.press(" ")
            player.wait_for(whole.runs[-1].result["duration_s"] / 8 + 4.0)
            events, player.events = player.events, []
            player.press("q")
            player.wait()
            player.events = events
            player.write(CAST, disguised)
        finally:
            if player.process.poll() is None:
                player.process.terminate()
                player.process.wait()
            player.close()
    print(CAST.name, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--again", action="store_true", help="from the kept session, without an engine")
    parser.add_argument("--session", metavar="DIR", help="of this session, whose first two runs are off and on")
    words = parser.parse_args()
    if words.session:
        keep(Path(words.session))
    elif not words.again:
        with tempfile.TemporaryDirectory(prefix="vtune-") as folder:
            session(Path(folder) / "session")
            keep(Path(folder) / "session")
    cast()
    events = kept()
    for name in PICTURES:
        write(name, asyncio.run(drawn(name, events)))


if __name__ == "__main__":
    main()
