"""vtune's own recordings, also ones that the replay would refuse as they are: joined, reordered, damaged."""

from typing import Any

from tui.traffic import recording
from tui.traffic.importers import check, secrets
from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import Found, Skip, Told, text
from tui.traffic.importers.sniff import Sniffed

_READ = {"id", "at", "path", "body", "group", "session", "after", "think_s", "redacted", "reply", "source_line"}


def row(line: int, given: dict[str, Any]) -> Rows:
    if str(given.get("schema", "")).startswith("vtune.recording/"):
        if given["schema"] != recording.SCHEMA:
            yield Skip(line, f"another schema than {recording.SCHEMA}")
            return
        yield Told(given.get("synthetic") is True, _texts(given.get("lacks")), _texts(given.get("rules_out")))
        return
    body = given.get("body")
    path = check.path_of(given.get("path"), body) if isinstance(body, dict) else None
    if not isinstance(body, dict) or path is None:
        yield Skip(line, "no body" if not isinstance(body, dict) else "not a chat or completion call")
        return
    clean, redacted, held = secrets.clean(body)
    think, reply, before = given.get("think_s"), given.get("reply"), given.get("redacted")
    group = given.get("group")
    yield Found(
        line, path, clean, given.get("at"), text(given.get("id")), text(given.get("session")),
        group if isinstance(group, str) else None, text(given.get("after")),
        think if isinstance(think, (int, float)) and not isinstance(think, bool) and 0 <= think < 1e9 else None,
        reply if isinstance(reply, dict) else None, redacted=(*(before if isinstance(before, list) else ()), *redacted),
        credentials=held, failed=isinstance(reply, dict) and reply.get("status", 200) != 200,
        extra={key: value for key, value in given.items() if key not in _READ},
    )  # fmt: skip


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _matches(found: Sniffed) -> str | None:
    if str(found.keys.get("schema", "")).startswith("vtune.recording/"):
        return "its first line"
    return "rows with id, at, path and body" if found.has("id", "at", "path", "body") else None


OWN = Format("vtune", "vtune recording", _matches, by_object(row), "s")
