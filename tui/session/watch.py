"""Looking at the engine while it serves: its /metrics and its memory."""

import asyncio
import time

import httpx

from tui.metrics import device
from tui.metrics.contention import Contention, gpu_conditions
from tui.metrics.scrape import Scrape
from tui.metrics.several import AnyScraper, scraper
from tui.session.host import Emit, Host
from tui.session.stall import Stall
from tui.session.state import State

BUSY_S = 0.4  # between scrapes while a replay runs
IDLE_S = 2.0
MEMORY_S = 2.0
WHOLE_EVERY = 100  # a whole scrape now and then, so that a reader can start there


class Watch:
    """Scrapes the host's engine and tells what changed."""

    def __init__(self, emit: Emit, state: State, client: httpx.AsyncClient, host: Host) -> None:
        self._emit, self._state, self._client, self._host = emit, state, client, host
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._scraper: AnyScraper | None = None
        self._since_whole = 0
        self._last: Scrape | None = None
        self._stall = Stall()
        self._chunks = 0
        self._contention = Contention()
        self.seen_at: float | None = None  # epoch of the newest scrape, told or not

    def begin(self) -> None:
        """Watch the engine that the host runs now."""
        self.end()
        assert self._host.launch is not None
        self._stall, self._chunks = Stall(), 0
        launch = self._host.launch
        self._scraper = scraper(self._client, (launch.url, *launch.also), buckets=self._host.engine is None)
        self._task = asyncio.create_task(self._loop())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = self._scraper = self._last = self.seen_at = None

    async def scrape_now(self, full: bool = False) -> bool:
        """Scrape and tell; True when the engine is idle and nothing moved since the last scrape."""
        asked = self._scraper
        if asked is None:
            return False
        async with self._lock:
            scrape = await asked.once()
            if asked is not self._scraper:
                return False
            moved = scrape is not None and (self._last is None or "engines" in scrape.changes(self._last))
            self._look_for_stall(moved)
            return scrape is not None and self._tell(scrape, full)

    def _tell(self, scrape: Scrape, full: bool) -> bool:
        before, self._last, self.seen_at = self._last, scrape, scrape.t
        changes = {} if before is None else scrape.changes(before)
        moved = before is None or "engines" in changes
        self._since_whole += 1
        if before is None or full or self._since_whole >= WHOLE_EVERY:
            self._emit("scrape", n=self._host.number, full=True, d=scrape.to_json())
            self._since_whole = 0
        elif moved or self._state.running is not None:
            self._emit("scrape", n=self._host.number, d=changes)
        return not moved and not scrape.running and not scrape.waiting

    def _look_for_stall(self, moved: bool) -> None:
        run = self._state.runs.get(self._state.running) if self._state.running is not None else None
        tick = run.tick if run else None
        chunks = tick.content_chunks if tick else 0
        running = bool(tick and tick.running) or bool(self._last and self._last.running)
        silent = self._stall.see(time.monotonic(), running, moved or chunks != self._chunks)
        self._chunks = chunks
        if silent is not None:
            what = f"the engine has made no progress for {silent:.0f} s though requests run; it may hang"
            self._emit("notice", level="error", what=what, mend="look at its log; a restart ends it, nothing else does")

    async def _loop(self) -> None:
        measured = 0.0
        while True:
            await self.scrape_now()
            if time.monotonic() - measured >= MEMORY_S:
                measured = time.monotonic()
                await self._memory()
            await asyncio.sleep(IDLE_S if self._state.running is None else BUSY_S)

    async def _memory(self) -> None:
        engine = self._host.engine
        number = self._host.number
        if engine is None:
            return
        pids = engine.pids()
        used = await asyncio.to_thread(device.pss, pids)
        gpu = await asyncio.to_thread(device.gpu_used, pids)
        record = self._state.engines[number]
        if _differs(used, record.memory_bytes) or _differs(gpu, record.gpu_bytes):
            self._emit("memory", n=number, bytes=used, gpu=gpu)
        if self._state.running is None:
            self._contention = Contention()  # what others did before a run is none of it
        else:
            await self._machine(number, pids, gpu is not None)

    async def _machine(self, number: int, pids: list[int], on_gpu: bool) -> None:
        load = await asyncio.to_thread(self._contention.look, pids)
        conditions = await asyncio.to_thread(gpu_conditions, pids) if on_gpu else ()
        if load is not None or conditions:
            told = {} if load is None else {"others": load.others, "steal": load.steal, "cores": load.cores}
            self._emit("machine", n=number, **told, **({"conditions": list(conditions)} if conditions else {}))


def _differs(now: int | None, before: int | None) -> bool:
    """Less than a megabyte is noise that would only grow the journal."""
    return now is not None and (before is None or abs(now - before) > 1 << 20)
