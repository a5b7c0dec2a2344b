"""From an exchange that passed to the recorded request."""

import json
import zlib
from collections import Counter
from typing import Any

from tui.traffic.http.parser import ResponseParser
from tui.traffic.importers import secrets
from tui.traffic.outcome import Outcome
from tui.traffic.recorder.conversations import Conversations
from tui.traffic.recorder.frame import Noted
from tui.traffic.recording import Request, is_embeddings
from tui.traffic.replay.answer import Answer
from tui.traffic.replay.outcomes import Ending, settle

_GZIP_OR_ZLIB = 47
_MOST = 1 << 26  # bytes that a compressed answer is unpacked to


class Unfit(Exception):
    """Why an exchange makes no recorded request."""


class Noting:
    """Makes requests of exchanges, in the order in which they ended. `counts` is what the summary tells."""

    def __init__(self, mask_secrets: bool = False, offset_s: float = 0.0) -> None:
        self.counts: Counter[str] = Counter()
        self._mask, self._offset_s = mask_secrets, offset_s
        self._conversations = Conversations()

    async def request(self, id: str, noted: Noted) -> Request:
        """Raises Unfit."""
        body = _object(noted.body)
        messages = body.get("messages")
        clean, redacted, own = secrets.clean(body)
        clean = self._without_secrets(clean, own.union(noted.credentials))
        outcome, text = await _outcome(id, noted)
        followed = self._conversations.followed(messages, noted.at)
        if outcome.status == "ok" and not noted.answer_dropped:
            self._conversations.ended(id, messages, text, outcome.tool_calls, noted.end)
        if followed is not None:
            self.counts["linked"] += 1
        return Request(
            id, round((noted.at - noted.origin) / 1e9 + self._offset_s, 6), noted.path, clean,
            after=followed[0] if followed else None,
            think_s=round((noted.at - followed[1]) / 1e9, 6) if followed else None,
            redacted=redacted, reply=self._reply(noted, outcome),
        )  # fmt: skip

    def _without_secrets(self, body: dict[str, Any], credentials: frozenset[str]) -> dict[str, Any]:
        if any(held in json.dumps(body, ensure_ascii=False) for held in credentials):
            self.counts["credentials"] += 1
            body = _concealed(body, credentials)
        keys, mails = secrets.count(body)
        self.counts["keys"] += keys
        if self._mask and (keys or mails):
            self.counts["masked"] += 1
            body = secrets.mask(body)
        elif keys:
            self.counts["with keys"] += 1
        return body

    def _reply(self, noted: Noted, outcome: Outcome) -> dict[str, Any]:
        reply: dict[str, Any] = {
            "status": noted.status, "ttft_s": outcome.ttft_s, "e2e_s": outcome.e2e_s,
            "usage": _usage(outcome), "text_sha256": outcome.text_sha256,
        }  # fmt: skip
        if is_embeddings(noted.path):  # there is no text, and the answer is there when it is whole
            reply |= {"e2e_s": round((noted.end - noted.at) / 1e9, 7), "text_sha256": None}
        if noted.how != "whole":
            reply["ended"] = noted.how
            self.counts["cut"] += 1
        elif outcome.status != "ok" and noted.status == 200:
            reply["ended"] = outcome.error or outcome.error_kind
        if noted.status != 200:
            self.counts["failed"] += 1
        return reply


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise Unfit("a body with a lone surrogate, which cannot be sent again") from None
    except (ValueError, RecursionError):
        raise Unfit("a body that is not JSON") from None
    if not isinstance(body, dict):
        raise Unfit("a body that is no JSON object")
    return body


async def _outcome(id: str, noted: Noted) -> tuple[Outcome, str]:
    """Judged exactly as a replay judges its answers, so that hashes and times can be compared."""
    answer = Answer(lambda count: None)
    place, unpack = 0, _Unpacker(noted.coding)
    for at, size in noted.reads:
        if piece := unpack.feed(noted.answer[place : place + size]):
            answer.on_body([piece], at, False)
        place += size
    head = ResponseParser()
    head.status = noted.status or 502
    head.headers = {"content-type": noted.type}
    unread = noted.answer_dropped or unpack.failed
    if noted.how == "whole" and not unread:
        ending = Ending(noted.end, head=head)
    else:
        ending = Ending(noted.end, kind="cut short", words="the answer was too long to keep" if unread else noted.how)
    return await settle(
        Request(id, 0.0, noted.path, {}), answer, ending,
        origin_ns=noted.at, due_ns=noted.at, connect_s=None, keep_text=True,
    )  # fmt: skip


class _Unpacker:
    """Content codings that the standard library knows; `failed` for any other, and for damaged or endless ones."""

    def __init__(self, coding: str) -> None:
        known = coding.strip().lower()
        self._inner = zlib.decompressobj(_GZIP_OR_ZLIB) if known in ("gzip", "x-gzip", "deflate") else None
        self.failed = self._inner is None and known not in ("", "identity")
        self._left = _MOST

    def feed(self, data: bytes) -> bytes:
        if self.failed:
            return b""
        if self._inner is None:
            return data
        try:
            out = self._inner.decompress(data, self._left)
        except zlib.error:
            self.failed = True
            return b""
        self._left -= len(out)
        self.failed = self._left <= 0
        return out


def _usage(outcome: Outcome) -> dict[str, Any] | None:
    usage: dict[str, Any] = {}
    if outcome.prompt_tokens is not None:
        usage["prompt_tokens"] = outcome.prompt_tokens
    if outcome.output_tokens is not None:
        usage["completion_tokens"] = outcome.output_tokens
    if outcome.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": outcome.cached_tokens}
    return usage or None


def _concealed(value: Any, credentials: frozenset[str]) -> Any:
    if isinstance(value, str):
        for held in credentials:
            value = value.replace(held, "x" * len(held))
        return value
    if isinstance(value, list):
        return [_concealed(item, credentials) for item in value]
    return {k: _concealed(v, credentials) for k, v in value.items()} if isinstance(value, dict) else value
