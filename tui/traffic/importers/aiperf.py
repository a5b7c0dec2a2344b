"""aiperf's own inputs: single turn, multi turn, inputs.json and SageMaker captures (its schedules are Mooncake's)."""

import json
from typing import Any

from tui.traffic.importers import check, reply, secrets
from tui.traffic.importers.format import Format, Rows, by_object
from tui.traffic.importers.found import CHAT, Found, Skip, text, whole
from tui.traffic.importers.sniff import Sniffed
from tui.traffic.importers.source import Source

_MEDIA = ("image", "images", "audio", "audios", "video", "videos")


def single_row(line: int, row: dict[str, Any]) -> Rows:
    if problem := _media(row):
        yield Skip(line, problem)
        return
    words = _words(row)
    if not words:
        yield Skip(line, "no text")
        return
    yield Found(
        line, CHAT, {"messages": [{"role": "user", "content": words}], **_extra(row)}, row.get("timestamp"),
        session=text(row.get("session_id")), think_s=_delay(row), output_tokens=whole(row.get("output_length")),
    )  # fmt: skip


def multi_row(line: int, row: dict[str, Any]) -> Rows:
    """The answers between the turns are not in the file: an empty one stands for each, which live turns fill."""
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns:
        yield Skip(line, "no turns")
        return
    session, history = text(row.get("session_id")) or f"line {line}", []
    for turn in turns:
        if not isinstance(turn, dict) or (problem := _media(turn)) or not (words := _words(turn)):
            yield Skip(line, problem if isinstance(turn, dict) and problem else "no text")
            continue
        history = [*history, {"role": "user", "content": words}]
        yield Found(
            line, CHAT, {"messages": list(history), **_extra(turn)}, turn.get("timestamp"), session=session,
            think_s=_delay(turn) if len(history) > 1 else None, output_tokens=whole(turn.get("output_length")),
        )  # fmt: skip
        history.append({"role": "assistant", "content": ""})


def inputs_rows(source: Source) -> Rows:
    """``{"data": [{"session_id", "payloads": [body, ...]}]}``; the payloads of a session follow each other."""
    for item in source.inside({("data",)}.__contains__):
        if isinstance(item, Skip):
            yield item
            continue
        line, path, session = item
        if path != ("data", "*") or not isinstance(session, dict):
            continue
        payloads = session.get("payloads")
        for body in payloads if isinstance(payloads, list) else ():
            target = check.path_of(None, body) if isinstance(body, dict) else None
            if target is None:
                yield Skip(line, "a payload without messages or prompt")
                continue
            clean, redacted, held = secrets.clean(body)
            yield Found(
                line, target, clean, session=text(session.get("session_id")), redacted=redacted, credentials=held
            )


def sagemaker_row(line: int, row: dict[str, Any]) -> Rows:
    capture, meta = row.get("captureData"), row.get("eventMetadata")
    sent = _inner(capture, "endpointInput")
    path = check.path_of(None, sent) if sent is not None else None
    if sent is None or path is None:
        yield Skip(line, "no JSON request in the capture")
        return
    clean, redacted, held = secrets.clean(sent)
    answer, words = reply.of_object(_inner(capture, "endpointOutput"))
    stamp = meta.get("inferenceTime") if isinstance(meta, dict) else None
    yield Found(line, path, clean, stamp, reply=answer, answer=words, redacted=redacted, credentials=held)


def _inner(capture: Any, key: str) -> dict[str, Any] | None:
    part = capture.get(key) if isinstance(capture, dict) else None
    try:
        value = json.loads(part["data"]) if isinstance(part, dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _media(row: dict[str, Any]) -> str | None:
    kind = next((key for key in _MEDIA if row.get(key)), None)
    # aiperf's own documentation has text with a placeholder beside it; what it names can't be sent to a text model.
    return f"not text: {kind.rstrip('s')} in a turn" if kind else None


def _words(row: dict[str, Any]) -> str | None:
    texts = [row["text"]] if isinstance(row.get("text"), str) else row.get("texts")
    flat = [_contents(text) for text in texts] if isinstance(texts, list) else []
    return "\n".join(text for text in flat if text) or None


def _contents(text: Any) -> str:
    """A text, or an object that names its batch of them."""
    held = text.get("contents") if isinstance(text, dict) else [text]
    return " ".join(part for part in held if isinstance(part, str)) if isinstance(held, list) else ""


def _extra(row: dict[str, Any]) -> dict[str, Any]:
    extra = row.get("extra")
    return secrets.clean(extra)[0] if isinstance(extra, dict) else {}


def _delay(row: dict[str, Any]) -> float | None:
    delay = row.get("delay")
    sound = isinstance(delay, (int, float)) and not isinstance(delay, bool) and 0 <= delay < 1e9
    return delay / 1000 if sound else None


def _is_single(found: Sniffed) -> str | None:
    return "rows with text" if found.share("text", "texts") >= 0.5 and not found.has("conversations") else None


def _is_multi(found: Sniffed) -> str | None:
    return "sessions with turns" if found.has("turns") else None


def _is_inputs(found: Sniffed) -> str | None:
    data = found.keys.get("data")
    first = data[0] if isinstance(data, list) and data else data
    return "a list of sessions with payloads" if isinstance(first, dict) and "payloads" in first else None


def _is_sagemaker(found: Sniffed) -> str | None:
    return "captures with eventMetadata" if found.has("captureData") else None


SINGLE = Format(
    "aiperf-single", "aiperf single_turn or random_pool", _is_single, by_object(single_row), "ms", chain=True
)
MULTI = Format("aiperf-multi", "aiperf multi_turn", _is_multi, by_object(multi_row), "ms", chain=True,
               lacks=("answers of earlier turns (replay with --live-turns)",))  # fmt: skip
INPUTS = Format("aiperf-inputs", "aiperf inputs.json", _is_inputs, inputs_rows, chain=True)
SAGEMAKER = Format("aiperf-sagemaker", "SageMaker data capture", _is_sagemaker, by_object(sagemaker_row))
