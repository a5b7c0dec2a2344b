"""The study of one run: a JSON object of counts in tokens, kept in the journal beside the run."""

from collections.abc import Sequence
from typing import Any

from tui.session.reuse.copied import copied
from tui.session.reuse.lost import Lost, Prefix, lost
from tui.session.reuse.over_turns import over_turns
from tui.session.reuse.served import Served, Tokens, served
from tui.traffic.inspect import capacity, turns
from tui.traffic.inspect.parts import text_of
from tui.traffic.outcome import Outcome
from tui.traffic.prefix import analyse
from tui.traffic.recording import Request

BLOCKS = (16, 32, 64, 128)


def study(
    requests: Sequence[Request],
    tokens: Tokens,
    outcomes: Sequence[Outcome],
    block_size: int,
    pool_tokens: int | None,
    *,
    empty_at_start: bool,
    cpu: bool,
    engines: int = 1,
    computed_again: int = 0,
) -> tuple[dict[str, Any], list[Prefix]]:
    """The object, and the prefixes that it names in `lost.prefixes`, in the same order.

    `tokens` are those of the prompts, `pool_tokens` what one engine's pool holds. With several `engines` a request
    may have met another cache than the one before it: what was lost then can't be told. EAGLE and its like have the
    last matched block computed again (vllm 0.32, config/speculative.py, disable_eagle_block_drop).
    """
    met = list(served(requests, tokens, outcomes, block_size))
    gone = lost(met, block_size, pool_tokens, empty_at_start, computed_again) if engines == 1 else Lost()
    prompts = turns.prompts(requests, tokens)
    sizes = [size for size in BLOCKS if (size % 32 == 0 or not cpu) and size <= block_size]
    told = {
        "requests": len(met),
        "lost": _lost(gone, met) if engines == 1 else None,
        "pools": _pools(met, block_size, pool_tokens if engines == 1 else None),
        "turns": over_turns(met, requests, block_size),
        "ceilings": [{"block_size": size, "ceiling": analyse(prompts, size).ceiling} for size in sizes],
        "copied": copied(_pairs(requests, outcomes)).to_json(),
    }
    return told, gone.worst


def _lost(gone: Lost, met: Sequence[Served]) -> dict[str, Any]:
    return {
        "prompt_tokens": sum(one.row.tokens for one in met),
        "seen_tokens": gone.seen,
        "found_tokens": gone.found,
        "evicted_tokens": gone.evicted,
        "evicted_soon_tokens": gone.soon,
        "unexplained_tokens": gone.unexplained,
        "requests": gone.requests,
        "prefixes": [prefix.to_json() for prefix in gone.worst],
    }


def _pools(met: Sequence[Served], block_size: int, pool_tokens: int | None) -> list[dict[str, Any]]:
    """Hit rates that pools of one, two and four times this size would give, if served one after another."""
    if pool_tokens is None:
        return []
    rows = [one.row for one in met]
    measured = capacity.measured(rows, [pool_tokens * times for times in (1, 2, 4)], block_size)
    return [{"kv_tokens": pool.kv_tokens, "hit_rate": pool.hit_rate} for pool in measured]


def _pairs(requests: Sequence[Request], outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    answers = {outcome.id: outcome.text for outcome in outcomes if outcome.status == "ok" and outcome.text}
    return [(_prompt(request), answers[request.id]) for request in requests if request.id in answers]


def _prompt(request: Request) -> str:
    messages = request.body.get("messages")
    if isinstance(messages, list):
        return "\n".join(text_of(message) for message in messages if isinstance(message, dict))
    prompt = request.body.get("prompt")
    return prompt if isinstance(prompt, str) else ""
