"""One replay inside the child process: waits, sends, settles."""

import asyncio
import os
import secrets
from collections import deque
from collections.abc import Coroutine
from time import monotonic_ns
from typing import NamedTuple

from tui.errors import VtuneError
from tui.traffic.filed import pass_id, passes
from tui.traffic.http.hub import pending
from tui.traffic.http.pool import Pool
from tui.traffic.http.target import encode_request, parse_target
from tui.traffic.recording import Recording, Request
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.body import Rewriter
from tui.traffic.replay.closed import ClosedQueue
from tui.traffic.replay.gate import Gate
from tui.traffic.replay.learned import Learned
from tui.traffic.replay.outcomes import TOO_LONG, Ending, settle
from tui.traffic.replay.progress import Progress
from tui.traffic.replay.runfile import RunFile
from tui.traffic.replay.sender import Connecting, Sender
from tui.traffic.replay.spec import ReplaySpec
from tui.traffic.replay.timer import Timer
from tui.traffic.schedule import Pace

# Connections are opened this long before a request is due, so that connecting is not in its TTFT.
LEAD_NS = 250_000_000
BATCH_NS = 25_000_000  # so much earlier at most, that not each is woken for alone
GUARD_NS = 300_000  # nothing is begun so shortly before a request is due
MOST_UNREAD = 8 << 20  # bytes of answers that wait to be read
LONGEST_NS = 500_000_000  # that one waits while others come in


class Moment(NamedTuple):
    ended: int  # CLOCK_MONOTONIC ns
    schedule: int  # the same in the run's own time


class _Answered(NamedTuple):
    request: Request
    answer: Answer
    ending: Ending
    due_ns: int
    cost: float | None


class Run:
    """`go` replays the whole recording, as often as asked; the other methods may be called from the loop meanwhile."""

    gate: Gate | None = None

    def __init__(self, spec: ReplaySpec, recording: Recording, pace: Pace, file: RunFile, progress: Progress) -> None:
        self.spec, self.recording, self.pace = spec, recording, pace
        self.file, self.progress = file, progress
        self.kind = "done"
        self.request_ids = f"vtune-{secrets.token_hex(4)}"  # unique per run: vLLM breaks on an id that it still holds
        self.sender = Sender(Pool(parse_target(spec.url)), spec.timeout_s, spec.retry)
        self.requests = passes(recording.requests, spec.loop)
        self._headers = request_headers(spec)
        self._rewrite = Rewriter(spec)
        self._learned = Learned()
        self._numbers = {request.id: number for number, request in enumerate(self.requests)}
        self._unsent = {pass_id(id, n): why for id, why in spec.unsent.items() for n in range(1, spec.loop + 1)}
        self._answered: dict[str, asyncio.Future[Moment]] = {}  # of the followed: when the answer ended
        self._texts: dict[str, str | None] = {}  # of the followed, for live turns; None where there is no answer
        self._waiting: set[asyncio.Task[None]] = set()  # not due yet: drain ends these
        self._sending: set[asyncio.Task[None]] = set()  # due: cancel ends these too
        self._settling: set[asyncio.Task[None]] = set()  # at most one, while answers wait to be read: nothing ends it
        self._answers: deque[_Answered] = deque()  # whole, and not read yet
        self._unread = 0  # bytes in them
        self._queue = ClosedQueue(self.requests) if pace.mode == "closed" else None
        self._filling: asyncio.Future[None] | None = None  # of a closed loop, until its last request was taken
        self._bug: BaseException | None = None

    async def go(self, origin_ns: int) -> None:
        """Replay; the run's clock starts at `origin_ns`, which should lie `lead_ns` ahead."""
        loop = asyncio.get_running_loop()
        self.progress.origin_ns = self._origin = origin_ns
        self._timer, self._over = Timer(), loop.create_future()
        self.gate = Gate(self._timer, origin_ns)
        if self.progress.paused:
            self.gate.pause()
        self._answered = {r.after: loop.create_future() for r in self.requests if r.after}
        try:
            self._spawn(self._waiting, self._open_loop() if self._queue is None else self._closed_loop(self._queue))
            await self._over
        finally:
            self._timer.close()
            self.sender.pool.close()
        if self._bug is not None:
            raise self._bug

    def pause(self) -> None:
        """Send nothing more for now; what is due or sent goes on."""
        self.progress.paused = True
        if self.gate is not None:
            self.gate.pause()

    def resume(self) -> None:
        """Go on where `pause` stopped: what was not due then is put off by the length of the pause."""
        self.progress.paused = False
        if self.gate is not None:
            self.gate.resume()
            self.progress.pauses_ns = self.gate.paused_ns
            self._spawn(self._sending, self._refill())

    def drain(self) -> None:
        """Start nothing new; what is due or sent finishes."""
        if self.kind == "done":
            self.kind = "drained"
            for task in tuple(self._waiting):
                task.cancel()

    def cancel(self, kind: str = "cancelled") -> None:
        """End every request now; closing their connections makes the engine drop them."""
        if self.kind in ("done", "drained"):
            self.kind = kind
            for task in self._waiting | self._sending:
                task.cancel()

    def _spawn(self, group: set[asyncio.Task[None]], work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        group.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        for group in (self._waiting, self._sending, self._settling):
            group.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._bug = self._bug or error
            self.cancel("failed")
        elif self._answers and not self._settling:  # one came while the last was being ended
            self._spawn(self._settling, self._settle_all())
        if not (self._waiting or self._sending or self._settling) and not self._over.done():
            self._over.set_result(None)

    async def _open_loop(self) -> None:
        horizon = -1
        for due_s, request in self.pace.due_times(self.requests):
            due = self.progress.expected[request.id] = int(due_s * 1e9)
            if due > horizon:
                await self.gate.until(due, LEAD_NS + BATCH_NS)
                horizon = due + BATCH_NS
            self._spawn(self._waiting, self._turn(request, due_s))
            await self._give_way()

    async def _give_way(self) -> None:
        """Let others run, and first what is due in a moment."""
        await asyncio.sleep(0)
        if self._due_soon():
            await self._timer.until(self._timer.soonest or 0)

    def _due_soon(self) -> bool:
        soon = self._timer.soonest
        return soon is not None and soon - monotonic_ns() < GUARD_NS

    async def _turn(self, request: Request, due_s: float) -> None:
        expected = self.progress.expected
        if request.after is not None:
            parent = self._answered[request.after]
            expected.pop(request.id, None)  # not known before that answer
            await asyncio.wait([parent])
            due_s = self.pace.follow(due_s, parent.result().schedule / 1e9, request.think_s)
        due = expected[request.id] = int(due_s * 1e9)
        await self.gate.until(due, LEAD_NS + BATCH_NS)
        data = self._encode(request)
        connecting, due_ns = await self._connected(due)
        if (task := asyncio.current_task()) is not None:
            self._waiting.discard(task)
            self._sending.add(task)
        await self._send(request, data, connecting, due_ns)

    async def _connected(self, due: int) -> tuple[Connecting, int]:
        """Connects a little before schedule time `due` and waits for it; after a pause meanwhile, once more."""
        while True:
            planned = await self.gate.until(due, LEAD_NS + BATCH_NS)
            connecting = self.sender.prepare(planned)
            try:
                due_ns = await self.gate.until(due)
            except asyncio.CancelledError:
                connecting.cancel()  # a connection that is open already ends with the process
                raise
            if due_ns == planned:
                return connecting, due_ns
            if (connection := await connecting) is not None:
                self.sender.pool.give(connection)

    async def _closed_loop(self, queue: ClosedQueue) -> None:
        places = min(self.pace.concurrency or 1, len(self.requests))
        queue.free.extend([self._origin] * places)
        await self.gate.until(0, LEAD_NS)
        for connection in await asyncio.gather(*[self.sender.prepare(self._origin) for _ in range(places)]):
            if connection is not None:
                self.sender.pool.give(connection)
        await self.gate.until(0)
        self._filling = asyncio.get_running_loop().create_future()
        self._fill()
        if queue.left:
            await self._filling

    async def _refill(self) -> None:
        self._fill()

    def _fill(self) -> None:
        """Send what a closed loop has a place for."""
        queue = self._queue
        if queue is None or self._filling is None:
            return
        while not (self._filling.done() or self.gate.paused) and (taken := queue.take()) is not None:
            request, due_ns = taken
            if request.after is not None:
                due_ns = max(due_ns, self._answered[request.after].result().ended)
            due_ns = max(due_ns, self.gate.resumed_at)
            self._spawn(self._sending, self._send(request, self._encode(request), None, due_ns))
        if not queue.left and not self._filling.done():
            self._filling.set_result(None)

    def _encode(self, request: Request) -> bytes | None:
        """The bytes to send; None for a live turn without the answer that it follows."""
        texts = self._earlier_answers(request) if self.spec.live_turns else []
        if None in texts:
            return None
        body = self._rewrite.encode(request, [text for text in texts if text is not None])
        number = self._numbers[request.id]
        headers = [*self._headers, ("X-Request-Id", f"{self.request_ids}-{number}")]
        return encode_request(self.sender.pool.target, "POST", request.path, headers, body)

    def _earlier_answers(self, request: Request) -> list[str | None]:
        texts: list[str | None] = []
        while request.after is not None:
            texts.append(self._texts.get(request.after))
            request = self.requests[self._numbers[request.after]]
        return texts[::-1]

    async def _send(self, request: Request, data: bytes | None, connecting: Connecting | None, due_ns: int) -> None:
        answer = Answer(self.progress.content, self._learned)
        self.progress.begin(request.id, request.group, due_ns, answer)
        cost = None
        if (why := self._unsent.get(request.id)) is not None:
            ending = Ending(monotonic_ns(), kind=TOO_LONG, words=f"not sent: {why}")
        elif data is None:
            ending = Ending(monotonic_ns(), kind="no earlier answer", words="the turn it follows has no answer")
        else:
            ending, cost = await self.sender.send(data, answer, connecting, due_ns)
        self.progress.answered(request.id)
        if self._queue is not None:
            self._queue.free.append(ending.ended_ns)
        if not self.spec.live_turns:
            self._release(request, ending)
        self._fill()
        answered = _Answered(request, answer, ending, due_ns, cost)
        # A live turn waits for the text of the one before.
        (self._answers.appendleft if self.spec.live_turns else self._answers.append)(answered)
        self._unread += answer.size
        if not self._settling:
            self._spawn(self._settling, self._settle_all())

    async def _settle_all(self) -> None:
        """Read answers while nothing comes in, for that goes first: one for each turn of the loop, and those that wait
        for long at any rate. When too much has piled up, nothing else is done until it is read."""
        while self._answers:
            full = self._unread >= MOST_UNREAD
            old = monotonic_ns() - self._answers[0].ending.ended_ns > LONGEST_NS
            if not (full or old or self.spec.live_turns) and (pending() or self._due_soon()):
                await self._give_way()
                continue
            answered = self._answers.popleft()
            self._unread -= answered.answer.size
            await self._settle(*answered, patient=not full)
            if not full:
                await asyncio.sleep(0)

    async def _settle(
        self, request: Request, answer: Answer, ending: Ending, due_ns: int, cost: float | None, patient: bool
    ) -> None:
        keep = self.spec.keep_text
        outcome, text = await settle(
            request, answer, ending, origin_ns=self._origin, due_ns=due_ns, connect_s=cost, keep_text=keep,
            patient=patient,
        )  # fmt: skip
        self.file.outcome(outcome)
        self.progress.finish(outcome, answer, ending.ended_ns)
        if self.spec.live_turns and request.id in self._answered:
            self._texts[request.id] = text if outcome.status == "ok" else None
            self._release(request, ending)
            self._fill()
        if outcome.status == "failed" and self.spec.fail_fast:
            self.cancel("failed-fast")

    def _release(self, request: Request, ending: Ending) -> None:
        followed = self._answered.get(request.id)
        if followed is not None and not followed.done():
            followed.set_result(Moment(ending.ended_ns, self.gate.schedule(ending.ended_ns)))
            if self._queue is not None:
                self._queue.answered(request.id)


def request_headers(spec: ReplaySpec) -> list[tuple[str, str]]:
    """Headers of every request; raises VtuneError when the variable for the key is not set."""
    headers = [("User-Agent", "vtune"), ("Accept", "text/event-stream"), ("Content-Type", "application/json")]
    if spec.api_key_env:
        key = os.environ.get(spec.api_key_env)
        if not key:
            raise VtuneError(f"${spec.api_key_env} is not set", "put the API key into that variable")
        headers.append(("Authorization", f"Bearer {key}"))
    return headers
