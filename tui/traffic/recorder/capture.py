"""What is noted of one exchange while it passes: references to its bytes and their times, nothing parsed."""

from collections.abc import Callable
from typing import Any

from tui.traffic.http.parser import ResponseParser
from tui.traffic.http.request import RequestParser
from tui.traffic.importers import secrets
from tui.traffic.importers.check import path_of
from tui.traffic.recorder.frame import pack
from tui.traffic.recording import EMBEDDINGS, is_embeddings

MAX_BODY = 16 << 20
MAX_ANSWER = 16 << 20
BUDGET = 1 << 30  # bytes of all captures that are under way

BIG_BODY = f"a body of more than {MAX_BODY >> 20} MiB"
BIG_TOTAL = f"more than {BUDGET >> 30} GiB were under way at once"
NOT_POST = "not a POST"
OTHER_PATH = "not a chat, completion or embeddings call"


class Held:
    """What all captures share: the bytes they hold together, and the arrival of the first one that may be kept."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.bytes, self.budget = 0, budget
        self.origin: int | None = None


class Capture:
    """One exchange. `skip` is why it will not be kept, once that is known."""

    def __init__(self, request: RequestParser, at: int, held: Held, done: Callable[["Capture"], None]) -> None:
        self.at, self.example = at, ""
        self.skip: str | None = None
        self._held, self._done, self._size, self._answer_size = held, done, 0, 0
        self._body: list[bytes] = []
        self._answer: list[bytes] = []
        self._reads: list[tuple[int, int]] = []
        self._answer_dropped = False
        self._fields, self._target = request.fields, request.target
        path = request.target.split("?", 1)[0]
        self.path = path_of(path) or (EMBEDDINGS if is_embeddings(path) else "")
        if request.method != "POST":
            self.skip = NOT_POST
        elif not self.path:
            self.skip, self.example = OTHER_PATH, path[:100]
        elif (coding := request.headers.get("content-encoding", "identity")) != "identity":
            self.skip, self.example = "a compressed body", coding[:30]
        elif held.origin is None:
            held.origin = at

    def uploaded(self, piece: bytes) -> None:
        if self.skip is not None:
            return
        self._body.append(piece)
        self._size += len(piece)
        self._take(len(piece))
        if self._size > MAX_BODY:
            self._drop(BIG_BODY)
        elif self._held.bytes > self._held.budget:
            self._drop(BIG_TOTAL)

    def answered(self, body: bytes, at: int) -> None:
        if self.skip is not None or self._answer_dropped:
            return
        self._answer.append(body)
        self._reads.append((at, len(body)))
        self._answer_size += len(body)
        self._take(len(body))
        if self._answer_size > MAX_ANSWER or self._held.bytes > self._held.budget:
            self._take(-self._answer_size)
            self._answer, self._reads, self._answer_size, self._answer_dropped = [], [], 0, True

    def ended(self, at: int, how: str, answer: ResponseParser | None, status: int | None = None) -> None:
        """`how` is "whole", or one line on how it was cut short; `status` is that of an answer of our own."""
        self.end, self.how = at, how
        self.status = answer.status if answer is not None and answer.status else status
        headers = answer.headers if answer is not None else {}
        self.kind, self.coding = headers.get("content-type", ""), headers.get("content-encoding", "")
        self._done(self)

    def frame(self) -> bytes:
        """For the scribe; the credentials travel along so that it can keep them off the disk."""
        meta: dict[str, Any] = {
            "path": self.path, "origin": self._held.origin, "at": self.at, "end": self.end,
            "how": self.how, "status": self.status, "type": self.kind, "coding": self.coding, "reads": self._reads,
            "answer_dropped": self._answer_dropped,
            "credentials": sorted(secrets.of_headers(self._fields, self._target)),
        }  # fmt: skip
        return pack(meta, self._body, self._answer)

    def release(self) -> None:
        self._take(-self._size - self._answer_size)
        self._body, self._answer, self._reads, self._size, self._answer_size = [], [], [], 0, 0

    def _drop(self, why: str) -> None:
        self.release()
        self.skip = why

    def _take(self, count: int) -> None:
        self._held.bytes += count
