"""A recording: requests as they were sent, with their arrival times (schema ``vtune.recording/1``)."""

import contextlib
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui import paths
from tui.errors import VtuneError
from tui.traffic import compressed

if TYPE_CHECKING:
    from tui.traffic.filed import Shelf

SCHEMA = "vtune.recording/1"
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_OWN = ("id", "at", "path", "body", "group", "after", "think_s", "redacted", "reply")


@dataclass(frozen=True, slots=True)
class Request:
    """One recorded request; `at` and `think_s` are seconds, `at` from the start of the recording."""

    id: str
    at: float
    path: str
    body: dict[str, Any]
    group: str | None = None
    after: str | None = None  # id of the request whose answer this one follows
    think_s: float | None = None  # between that answer's end and this request
    redacted: tuple[str, ...] = ()
    reply: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # keys that this version does not know

    def to_json(self) -> dict[str, Any]:
        """The line's object; unknown keys come back as they were read."""
        row: dict[str, Any] = {"id": self.id, "at": self.at, "path": self.path, "body": self.body}
        for key in ("group", "after", "think_s", "reply"):
            if (value := getattr(self, key)) is not None:
                row[key] = value
        if self.redacted:
            row["redacted"] = list(self.redacted)
        return {**row, **self.extra}


@dataclass(frozen=True, slots=True)
class Recording:
    """A loaded recording; `sha256` is of the whole file, uncompressed, whatever `limit` was."""

    name: str
    path: Path
    sha256: str
    requests: tuple[Request, ...]
    synthetic: bool
    header: dict[str, Any]
    left_out: int = 0  # requests that were asked to be left out, for they generate nothing


def load(ref: str | Path, limit: int | None = None, filed: bool = False, generating: bool = False) -> Recording:
    """Read a recording by path or bundled name, at most the first `limit` requests.

    With `generating`, those that generate nothing (embeddings) are left out and counted. With `filed`, bodies and
    replies stay in the file and are read when they are asked for (`FiledRequest`). Raises VtuneError with
    ``file:line`` for the first line that is not sound.
    """
    path = paths.find("recordings", str(ref), SUFFIXES)
    digest = hashlib.sha256()
    requests: list[Request] = []
    seen: set[str] = set()
    left_out: set[str] = set()
    header: dict[str, Any] | None = None
    with compressed.open_read(path) as file:
        shelf = _shelf(file) if filed else None
        for number, raw in enumerate(_lines(file, path), 1):
            digest.update(raw)
            place = shelf.add(raw) if shelf else (0, 0)
            if header is None:
                header = _header(_object(raw, path, number), path, number)
            elif (limit is None or len(requests) < limit) and raw.strip():
                request = _request(_object(raw, path, number), path, number)
                _check_links(request, seen, path, number)
                seen.add(request.id)
                if generating and is_embeddings(request.path):
                    left_out.add(request.id)
                    continue
                if request.after in left_out:
                    request = replace(request, after=None)
                requests.append(shelf.filed(request, place) if shelf else request)
        if shelf:
            shelf.ready()
    if header is None:
        raise VtuneError(f"{path}: the file is empty", f'its first line must be {{"schema": "{SCHEMA}", ...}}')
    if not requests:
        if left_out:
            raise VtuneError(f"{path}: nothing but calls for embeddings", "a replay needs chats or completions")
        raise VtuneError(f"{path}: no requests", "a recording has one request a line after its first line")
    name = header.get("name") or path.name.split(".")[0]
    synthetic = bool(header.get("synthetic"))
    return Recording(str(name), path, digest.hexdigest(), tuple(requests), synthetic, header, len(left_out))


EMBEDDINGS = "/v1/embeddings"


def is_embeddings(path: str) -> bool:
    """Whether a recorded path asks for embeddings, of which there is no stream, no token and no prefix."""
    return path.partition("?")[0].rstrip("/").endswith("/embeddings")


def _shelf(file: io.BufferedReader) -> "Shelf":
    from tui.traffic.filed import Shelf

    return Shelf(file if isinstance(file.raw, io.FileIO) else None)


def write(path: Path, header: dict[str, Any], requests: Iterable[Request], force: bool = False) -> None:
    """Write a recording whole or not at all, 0600; the suffix decides about gz and zst.

    Raises VtuneError when the file exists and `force` is not given.
    """
    if path.exists() and not force:
        raise VtuneError(f"{path} exists", "choose another name, or --force to replace it")
    rows: list[dict[str, Any]] = [{"schema": SCHEMA, **{k: v for k, v in header.items() if k != "schema"}}]
    rows += [request.to_json() for request in requests]
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise VtuneError(f"{path}: text that is not Unicode ({error.reason})", "remove lone surrogates") from error
    paths.write_whole(path, compressed.pack(path, data))


def _lines(file: io.BufferedIOBase, path: Path) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, OSError, compressed.BadArchive) as error:
        raise VtuneError(f"{path}: cannot be read to its end ({error})", "copy or compress the file again") from error


def _bad(path: Path, number: int, what: str, mend: str) -> VtuneError:
    return VtuneError(f"{path}:{number}: {what}", mend)


def _object(raw: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(raw, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _bad(path, number, f"not UTF-8 at byte {error.start}", "save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise _bad(
            path, number, f"not JSON ({error})", "one JSON object a line; `vtune import` reads other formats"
        ) from error
    if not isinstance(row, dict):
        raise _bad(path, number, f"a {type(row).__name__}, not an object", "one JSON object a line")
    return row


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _header(row: dict[str, Any], path: Path, number: int) -> dict[str, Any]:
    schema = row.get("schema")
    if schema == SCHEMA:
        return row
    if isinstance(schema, str) and schema.startswith("vtune.recording/"):
        raise _bad(path, number, f"schema {schema}, and this vtune reads {SCHEMA}", "use a newer vtune")
    raise _bad(path, number, "not a vtune recording", f"turn it into one: vtune import {path} -o NEW.jsonl")


def _request(row: dict[str, Any], path: Path, number: int) -> Request:
    for ok, what, mend in (*_needed(row), *_optional(row)):
        if not ok:
            raise _bad(path, number, what, mend)
    return request_of(row)


def request_of(row: dict[str, Any]) -> Request:
    """The request of a sound line's object; what this version does not know goes into `extra`."""
    think = row.get("think_s")
    return Request(
        id=row["id"],
        at=float(row["at"]),
        path=row["path"],
        body=row["body"],
        group=row.get("group"),
        after=row.get("after"),
        think_s=None if think is None else float(think),
        redacted=tuple(row.get("redacted") or ()),
        reply=row.get("reply"),
        extra={k: v for k, v in row.items() if k not in _OWN},
    )


def _needed(row: dict[str, Any]) -> Iterator[tuple[bool, str, str]]:
    id, target, body = row.get("id"), row.get("path"), row.get("body")
    yield isinstance(id, str) and id != "", '"id" is missing or not text', 'give every request its own "id"'
    yield (
        _is_time(row.get("at")),
        f'"at" is {row.get("at")!r}',
        '"at" is the arrival in seconds from the start, 0 or more',
    )
    sound = isinstance(target, str) and target.startswith("/") and target.isascii() and target.isprintable()
    yield sound and " " not in str(target), f'"path" is {target!r}', 'give a path such as "/v1/chat/completions"'
    yield isinstance(body, dict), '"body" is missing or not an object', '"body" is the JSON body as it was sent'
    yield (
        _can_be_sent(row),
        "it has a lone surrogate or a number beyond JSON, which cannot be sent",
        "remove this request",
    )


def _optional(row: dict[str, Any]) -> Iterator[tuple[bool, str, str]]:
    for key in ("group", "after"):
        yield isinstance(row.get(key), (str, type(None))), f'"{key}" is not text', f'leave "{key}" out or make it text'
    think, redacted = row.get("think_s"), row.get("redacted") or []
    yield think is None or _is_time(think), f'"think_s" is {think!r}', "seconds, 0 or more"
    keys = isinstance(redacted, list) and all(isinstance(key, str) for key in redacted)
    yield keys, '"redacted" is not a list of keys', 'such as ["user"]'
    yield isinstance(row.get("reply"), (dict, type(None))), '"reply" is not an object', 'leave "reply" out'


def _is_time(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value < 1e10  # type: ignore[operator]  # some 300 years


def _can_be_sent(row: dict[str, Any]) -> bool:
    with contextlib.suppress(ValueError):  # UnicodeEncodeError is one
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        return True
    return False


def _check_links(request: Request, seen: set[str], path: Path, number: int) -> None:
    if request.id in seen:
        raise _bad(path, number, f"id {request.id!r} comes twice", "every request needs its own id")
    if request.after is not None and request.after not in seen:
        what = f'"after" names {request.after!r}, which does not come before it'
        raise _bad(path, number, what, 'put turns in order, or leave "after" out')
