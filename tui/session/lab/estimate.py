"""How long a lab is going to take: its replays, and at most so much more for the output check."""

from collections.abc import Sequence

from tui.engine.lever_values import Chunking
from tui.session import warmup
from tui.session.check import asker, control, fork
from tui.session.lab.speed import Speed
from tui.session.lab.study import Study
from tui.traffic.recording import Request


def replays_s(study: Study, values: Sequence[str], scale: float, rounds: int, speed: Speed) -> float:
    """Seconds for all replays, starts and warm-ups included."""
    sent = study.requests(scale)
    total = sum(2 * rounds * _replay_s(study, value, sent, speed) for value in values)
    if study.control is not None:
        total += _replay_s(study, study.control.value, study.control.requests(scale), speed)
    return total


def check_s(study: Study, values: Sequence[str], scale: float, speed: Speed) -> float:
    """Seconds for the output check where as many answers differ as it looks at; less where they are equal.

    The cold/warm control, a prompt for each pair that parts, and prompts with their answers to be scored.
    """
    sent = study.requests(scale)
    prompt_s = study.load(values[0], sent).prefill_tokens / len(sent) / speed.prefill_tokens_per_s
    controls = min(control.REQUESTS, control.PROMPTS * len(sent) // study.load(values[0], sent).prefill_tokens)
    greedy = sum(not request.body.get("temperature") for request in sent)
    pairs = (2 * len(values) - 1) * min(fork.LOOKED_AT, greedy)
    scored = len(values) * min(asker.SCORED, asker.OF_A_REQUEST * len(sent)) if _scored(study, values, sent) else 0
    decoded = 2 * controls * control.TOKENS * speed.step_s
    return (controls + pairs + scored) * prompt_s + decoded


def _scored(study: Study, values: Sequence[str], sent: Sequence[Request]) -> bool:
    return study.load(values[0], sent).prefill_tokens / len(sent) <= asker.LONGEST


def _replay_s(study: Study, value: str, sent: Sequence[Request], speed: Speed) -> float:
    budget = Chunking.read(value).budget if study.lever == "chunked-prefill" else None
    load = study.load(value, sent)
    return speed.replay_s(load.prefill_tokens, load.decode_steps, warmup.warm_up_length(budget, None))
