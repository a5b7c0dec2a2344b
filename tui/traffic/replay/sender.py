"""Sending one request over the pool: fresh connections, one retry, a time limit, patience with a busy server."""

import asyncio
import contextlib
import os
import ssl
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import monotonic_ns, time

from tui.traffic.http.connection import Connection, ConnectionLost, ProtocolError
from tui.traffic.http.parser import ResponseParser
from tui.traffic.http.pool import Pool
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.outcomes import Ending
from tui.traffic.replay.parse import one_line

Connecting = asyncio.Future[Connection | None]


@dataclass(slots=True)
class Sender:
    pool: Pool
    timeout_s: float  # of one request, from when it is due
    patience: int = 0  # how often a request is sent again that a busy server (429, 503) refused
    retries: int = 0  # because an idle connection was closed
    waits: int = 0  # because the server was busy

    def prepare(self, due_ns: int) -> Connecting:
        """A connection that is open and fresh at `due_ns`; None if there is none yet: sending tries again."""
        loop = asyncio.get_running_loop()
        if (idle := self.pool.idle(due_ns)) is None:
            return loop.create_task(self._connect())
        ready: Connecting = loop.create_future()
        ready.set_result(idle)
        return ready

    async def _connect(self) -> Connection | None:
        try:
            return await self.pool.connect()
        except OSError:
            return None

    async def send(
        self, data: bytes, answer: Answer, connecting: Connecting | None, due_ns: int
    ) -> tuple[Ending, float | None]:
        """How it ended, and what connecting cost after due (None: never connected). Cancelling is an ending too."""
        cost: list[float] = []
        try:
            async with asyncio.timeout(self.timeout_s) as limit:
                ending = await self._attempts(data, answer, connecting, due_ns, cost)
        except asyncio.CancelledError:
            ending = Ending(monotonic_ns(), cancelled=True)
        except ProtocolError as error:
            ending = Ending(monotonic_ns(), kind="protocol", words=one_line(str(error)))
        except OSError as error:
            if limit.expired():
                ending = Ending(monotonic_ns(), kind="timeout", words=f"no whole answer within {self.timeout_s:g} s")
            else:
                ending = Ending(monotonic_ns(), kind="connection", words=_words(error))
        return ending, cost[-1] if cost else None

    async def _attempts(
        self, data: bytes, answer: Answer, connecting: Connecting | None, due_ns: int, cost: list[float]
    ) -> Ending:
        opened_before = connecting is None or connecting.done()
        connection = await connecting if connecting is not None else None
        if connection is None or not self.pool.fresh(connection):
            connection = self.pool.idle()
        if connection is None:
            connection, opened_before = await self.pool.connect(), False
        cost.append(0.0 if opened_before else (monotonic_ns() - due_ns) / 1e9)
        retried = 0
        while True:
            try:
                head = await connection.exchange(data, answer)
            except ConnectionLost as lost:
                if lost.started:
                    return Ending(monotonic_ns(), kind="cut short", words=one_line(str(lost)), retried=retried)
                if not opened_before:
                    return Ending(monotonic_ns(), kind="connection", words=one_line(str(lost)), retried=retried)
                # The server may have closed it just as we wrote; nothing was answered, so once more is safe.
                self.retries += 1
                connection, opened_before = await self.pool.connect(), False
                cost.append((monotonic_ns() - due_ns) / 1e9)
                continue
            ended = monotonic_ns()
            self.pool.give(connection)
            wait = busy_s(head)
            if wait is None or retried >= self.patience or (ended - due_ns) / 1e9 + wait >= self.timeout_s:
                return Ending(ended, head=head, retried=retried)
            retried, self.waits = retried + 1, self.waits + 1
            answer.restart()
            await asyncio.sleep(wait)
            idle = self.pool.idle()
            connection, opened_before = idle or await self.pool.connect(), idle is not None


def busy_s(head: ResponseParser) -> float | None:
    """How long a refusal asks to wait (Retry-After, RFC 9110: seconds or a date), 1 s where it does not say; None for
    any other answer."""
    if head.status not in (429, 503):
        return None
    word = head.headers.get("retry-after", "").strip()
    if word.isascii() and word.isdigit():
        return float(word)
    with contextlib.suppress(ValueError):
        return max(0.0, parsedate_to_datetime(word).timestamp() - time())
    return 1.0


def _words(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "connecting took too long"
    if isinstance(error, ssl.SSLError):  # its errno is OpenSSL's, and no system's
        why = getattr(error, "verify_message", "") or (error.reason or str(error)).replace("_", " ").lower()
        return one_line(f"TLS: {why}")
    # asyncio puts its own text before the system's.
    system = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else None
    return one_line(system or str(error) or type(error).__name__)
