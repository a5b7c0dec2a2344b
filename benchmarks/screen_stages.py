"""vtune with its stages timed: what `screen.py` runs under its pty. STAGES in the environment names the file written.

Each stage is a function that is called without an await inside, so CPU time of its thread is its own; time spent in a
stage inside another counts for the inner one only. Toggled by SIGUSR1: the first starts the count, the second ends it
and writes `{"cpu_s": of the whole process, "stages": {name: {"cpu_s", "calls"}}}`.
"""

import functools
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from textual._compositor import Compositor
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

from tui.app import VtuneApp
from tui.cli import run
from tui.metrics import scrape
from tui.screens.dashboard import Dashboard
from tui.session import session, views
from tui.session.journal import Journal
from tui.session.state import State
from tui.widgets import header, panel, plot

STAGES = (
    ("journal: write a line", Journal, "append"),
    ("session: fold an event", State, "apply"),
    ("session: make a snapshot", views, "snapshot"),
    ("metrics: read a scrape", scrape, "read"),
    ("screen: hand a snapshot to its parts", VtuneApp, "_draw"),
    ("screen: arrange", Dashboard, "_arrange"),
    ("panels: draw", panel.Panel, "render"),
    ("panels: plots", plot, "draw"),
    ("header: draw", header.Header, "render"),
    ("textual: lay out", Screen, "_refresh_layout"),
    ("textual: compose the change", Compositor, "render_update"),
    ("terminal: write", LinuxDriver, "write"),
)


class Stages:
    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.counting = False
        self._inner: list[float] = []  # CPU seconds of the stages inside each open one

    def time(self, name: str, function: Any) -> Any:
        @functools.wraps(function)
        def timed(*args: Any, **more: Any) -> Any:
            if not self.counting:
                return function(*args, **more)
            self._inner.append(0.0)
            start = time.thread_time()
            try:
                return function(*args, **more)
            finally:
                took = time.thread_time() - start
                inner = self._inner.pop() if self._inner else 0.0
                if self._inner:
                    self._inner[-1] += took
                self.spent[name] = self.spent.get(name, 0.0) + took - inner
                self.calls[name] = self.calls.get(name, 0) + 1

        return timed

    def toggle(self, *_: object) -> None:
        if not self.counting:
            self.counting, self._began = True, time.process_time()
            return
        self.counting = False
        stages = {name: {"cpu_s": spent, "calls": self.calls[name]} for name, spent in self.spent.items()}
        made = {"cpu_s": time.process_time() - self._began, "stages": stages}
        path = Path(os.environ["STAGES"])
        path.with_suffix(".part").write_text(json.dumps(made))
        path.with_suffix(".part").replace(path)


def main() -> None:
    stages = Stages()
    for name, owner, attribute in STAGES:
        timed = stages.time(name, getattr(owner, attribute))
        setattr(owner, attribute, timed)
    # Modules that took the function by name.
    session.views.snapshot = views.snapshot
    from tui.widgets import acceptance, kv, prefix, ttft

    for module in (acceptance, kv, prefix, ttft):
        if hasattr(module, "draw"):
            module.draw = plot.draw
    signal.signal(signal.SIGUSR1, stages.toggle)
    run()


if __name__ == "__main__":
    main()
