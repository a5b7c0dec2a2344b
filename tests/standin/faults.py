"""What can go wrong with an answer.

Given for all requests by STANDIN_FAULT or ``POST /standin/faults`` (``{}`` ends them), for one by the body's
key ``standin``. Names that are not listed here are refused, so that a test cannot misspell one.
"""

from dataclasses import dataclass, fields
from typing import Any


@dataclass
class Faults:
    status: int = 0  # 400 or 500 instead of an answer (the captured 400; a made 500)
    slow_headers_s: float = 0.0
    interim: bool = False  # 100 and 103 answers before the real one
    close_delimited: bool = False  # no length, no chunks: the body ends with the connection
    close_after: bool = False  # closes the connection right after a whole answer without having said so
    drop_request: bool = False  # closes the connection without a byte of answer
    trailers: bool = False  # chunk extensions and trailers
    byte_by_byte: bool = False  # each byte of the body in a chunk and a write of its own
    crlf: bool = False  # event lines end with CR LF
    spaced: bool = False  # JSON with a blank after each colon
    one_write: bool = False  # the whole answer in one write
    role_lead_s: float = 0.0  # the role chunk goes out this long before the first content
    comments: int = 0  # keep-alive comments before the first content
    tokens_per_chunk: int = 0  # 0: one per step
    split_utf8: bool = False  # chunks end inside characters
    text: str = ""  # the answer's words instead of made ones
    reasoning: int = 0  # the first N words come as reasoning
    tool_call: bool = False  # the words come as the arguments of a tool call
    error_after: int = -1  # after N content chunks an error object, then [DONE]
    cut_after: int = -1  # after N content chunks the connection is closed
    die_after: int = -1  # after N content chunks the whole process exits
    hang_after: int = -1  # after N content chunks (0: before any byte) nothing more comes
    no_done: bool = False  # neither finish reason nor [DONE]
    no_usage: bool = False

    def changed(self, given: dict[str, Any]) -> "Faults":
        known = {f.name for f in fields(self)}
        if unknown := set(given) - known:
            raise ValueError(f"no such fault: {sorted(unknown)}")
        return Faults(**{**{name: getattr(self, name) for name in known}, **given})
