"""Help for tests that replay made-up recordings against the stand-in."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.traffic import recording
from tui.traffic.outcome import Outcome
from tui.traffic.recording import Request
from tui.traffic.replay import Replay, ReplayEnd, ReplaySpec, read_outcomes

CHAT = "/v1/chat/completions"
_numbers = itertools.count()


def chat(
    id: str, words: str = "What is the rule?", at: float = 0.0, faults: dict[str, Any] | None = None, **more: Any
) -> Request:
    """A chat request; `faults` go to the stand-in, keys of Request and of its body may follow."""
    known = {k: more.pop(k) for k in ("group", "after", "think_s", "reply", "path") if k in more}
    messages = [{"role": "user", "content": words}]
    body = {"model": "recorded-name", "messages": messages, "max_tokens": 8, "stream": True, **more}
    if faults:
        body["standin"] = faults
    return Request(id, at, known.pop("path", CHAT), body, **known)


def spec(url: str, folder: Path, requests: Sequence[Request], **more: Any) -> ReplaySpec:
    number = next(_numbers)
    path = folder / f"recording-{number}.jsonl"
    recording.write(path, {"name": "made", "synthetic": True}, requests)
    return ReplaySpec(url, "smollm2-135m", str(path), str(folder / f"run-{number}.jsonl"), **more)


@dataclass
class Replayed:
    header: dict[str, Any]
    outcomes: dict[str, Outcome]
    end: ReplayEnd


async def replay(url: str, folder: Path, requests: Sequence[Request], **more: Any) -> Replayed:
    """Replay to the end."""
    asked = spec(url, folder, requests, **more)
    run = await Replay.start(asked)
    end = await run.wait()
    header, outcomes, _ = read_outcomes(Path(asked.out_path))
    return Replayed(header, {o.id: o for o in outcomes}, end)
