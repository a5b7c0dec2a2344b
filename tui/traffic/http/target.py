"""Where requests go: a base URL taken apart once, and the bytes of a request."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from tui.errors import VtuneError


@dataclass(frozen=True, slots=True)
class Target:
    """A base URL. `host` is without brackets; `base` and `query` are kept in every request line."""

    scheme: str
    host: str
    port: int
    base: str = ""
    query: str = ""

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL without its query."""
        return f"{self.scheme}://{self.authority}{self.base}"

    def path(self, path: str) -> str:
        """Request target for a recorded path; a base that ends in ``/v1`` is not doubled."""
        base = self.base
        if base.endswith("/v1") and path.startswith("/v1/"):
            base = base[:-3]
        joined = base + path
        return f"{joined}{'&' if '?' in joined else '?'}{self.query}" if self.query else joined


def parse_target(url: str) -> Target:
    """Take a base URL apart; raises VtuneError in one line what, one line mend."""
    mend = "such as http://127.0.0.1:8000 or https://host/base"
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise VtuneError(f"URL {url!r}: {error}", mend) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise VtuneError(f"URL {url!r} is not http(s)://HOST", mend)
    if parts.username is not None:
        raise VtuneError("the URL carries a user name", "take it out; a key goes in through an environment variable")
    if not (url.isascii() and url.strip().isprintable()) or " " in url.strip():
        raise VtuneError(f"URL {url!r} has blanks or signs beyond ASCII", "percent-encode them")
    port = port or (443 if parts.scheme == "https" else 80)
    return Target(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), parts.query)


def encode_request(target: Target, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """Head and body in one piece, so that they leave in one write. Header values must be printable ASCII."""
    lines = [f"{method} {target.path(path)} HTTP/1.1", f"Host: {target.authority}"]
    for name, value in headers:
        if not (value.isascii() and value.isprintable()):
            raise VtuneError(f"header {name} has signs that HTTP does not carry", "use printable ASCII")
        lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
