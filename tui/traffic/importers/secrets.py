"""What must not travel from a source into a recording: credentials, and who the user was."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Keys of a body that name people or carry headers; everything that changes the prompt or the cache stays.
REMOVED = ("user", "metadata", "extra_headers")
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|passw|signature|\bsig\b", re.IGNORECASE)
_KEYS = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|[sp]k-lf-[A-Za-z0-9-]{8,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_HINTS = ("sk-", "k-lf-", "AKIA", "gh", "xox", "AIza", "hf_", "eyJ", "-----BEGIN")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")
_SHORTEST = 8


def clean(body: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...], frozenset[str]]:
    """(body without the removed keys, their names, the credentials that they held)."""
    redacted = tuple(key for key in REMOVED if key in body)
    if not redacted:
        return body, (), frozenset()
    held = frozenset().union(*(_inside(body[key]) for key in redacted))
    return {key: value for key, value in body.items() if key not in redacted}, redacted, held


def of_headers(headers: object, url: str = "") -> frozenset[str]:
    """The credentials in a recorded call's headers (object, pairs, or name-and-value objects) and URL."""
    found: set[str] = set()
    for name, value in _pairs(headers):
        if _SECRET_NAME.search(name):
            found |= _words(value)
    try:
        parts = urlsplit(url)
        found |= {value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name)}
        found |= {parts.password} if parts.password else set()
    except ValueError:
        pass
    return frozenset(value for value in found if len(value) >= _SHORTEST)


def count(value: Any) -> tuple[int, int]:
    """(texts that look like keys, mail addresses) in a prompt or in messages."""
    if isinstance(value, str):
        keys = len(_KEYS.findall(value)) if any(hint in value for hint in _HINTS) else 0
        return keys, len(_MAIL.findall(value)) if "@" in value else 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    keys = mails = 0
    for item in inner:
        if isinstance(item, (str, dict, list)):
            more_keys, more_mails = count(item)
            keys, mails = keys + more_keys, mails + more_mails
    return keys, mails


def mask(value: Any) -> Any:
    """`value` with every key and address in its texts replaced by as many x: the length stays, the tokens change."""
    if isinstance(value, str):
        return _MAIL.sub(_same_length, _KEYS.sub(_same_length, value))
    if isinstance(value, list):
        return [mask(item) for item in value]
    return {key: mask(item) for key, item in value.items()} if isinstance(value, dict) else value


def _same_length(match: re.Match[str]) -> str:
    return "x" * len(match.group())


def _pairs(headers: object) -> Iterable[tuple[str, str]]:
    if isinstance(headers, Mapping):
        return [(str(k), str(v)) for k, v in headers.items()]
    pairs = []
    for item in headers if isinstance(headers, (list, tuple)) else ():
        if isinstance(item, Mapping):
            pairs.append((str(item.get("name", "")), str(item.get("value", ""))))
        elif isinstance(item, (list, tuple)) and len(item) == 2:
            pairs.append((str(item[0]), str(item[1])))
    return pairs


def _words(value: str) -> set[str]:
    """A header's value, and what comes behind its scheme."""
    return {value, value.rsplit(" ", 1)[-1]}


def _inside(value: Any) -> frozenset[str]:
    if isinstance(value, Mapping):
        return of_headers(value).union(*(_inside(v) for v in value.values() if isinstance(v, (dict, list))))
    return frozenset().union(*(_inside(item) for item in value)) if isinstance(value, list) else frozenset()
