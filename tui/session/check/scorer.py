"""What an engine says of tokens: how likely an answer is to it, and what it would have put at one place.

Token ids go to ``/v1/completions``, so that no chat template is applied again. `prompt_logprobs` computes logits
over the whole vocabulary for every token and skips the prefix cache (vllm/sampling_params.py), so prompts are kept
short; a single place is asked for with `logprobs`, which costs a prefill at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tui.errors import VtuneError
from tui.traffic.recording import Request

CHOICES = 20  # vLLM's own limit (--max-logprobs)
TIMEOUT_S = 120.0
_OF_THE_PROMPT = (
    "messages", "prompt", "tools", "chat_template", "chat_template_kwargs", "add_generation_prompt",
    "continue_final_message", "add_special_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Likelihood:
    """`logprob` is the mean over the tokens, natural logarithm."""

    tokens: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Scorer:
    """Asks the engine at `url`. Raises VtuneError where it refuses or answers something else."""

    client: httpx.AsyncClient
    url: str
    model: str

    async def prompt(self, request: Request) -> list[int]:
        """The prompt's token ids, as the engine renders it."""
        given = request.body.get("prompt")
        if isinstance(given, list) and given and all(isinstance(token, int) for token in given):
            return given
        return await self._tokens({k: request.body[k] for k in _OF_THE_PROMPT if k in request.body})

    async def answer(self, text: str) -> list[int]:
        """An answer's token ids; not always those that were generated, but the model's usual ones for this text."""
        return await self._tokens({"prompt": text, "add_special_tokens": False}) if text else []

    async def likelihood(self, prompt: Sequence[int], answer: Sequence[int]) -> Likelihood:
        """How likely the engine finds `answer` after `prompt`."""
        choice = await self._complete([*prompt, *answer], prompt_logprobs=0)
        rows = choice.get("prompt_logprobs")
        if not isinstance(rows, list) or len(rows) < len(prompt) + len(answer) or not answer:
            raise _refused("it told no log-probabilities of the prompt")
        found = [_of(row, token) for row, token in zip(rows[len(prompt) :], answer, strict=False)]
        return Likelihood(len(found), sum(found) / len(found))

    async def choices(self, prompt: Sequence[int]) -> dict[int, float]:
        """The likeliest next tokens after `prompt` with their log-probabilities."""
        choice = await self._complete(prompt, logprobs=CHOICES, return_tokens_as_token_ids=True)
        try:
            row = choice["logprobs"]["top_logprobs"][0]
            return {int(name.removeprefix("token_id:")): float(value) for name, value in row.items()}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise _refused("it told no log-probabilities of the next token") from None

    async def _tokens(self, body: Mapping[str, Any]) -> list[int]:
        tokens = (await self._post("/tokenize", body)).get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            raise _refused("/tokenize told no tokens")
        return tokens

    async def _complete(self, prompt: Sequence[int], **more: Any) -> dict[str, Any]:
        row = await self._post("/v1/completions", {"prompt": list(prompt), "max_tokens": 1, "temperature": 0, **more})
        try:
            return dict(row["choices"][0])
        except (KeyError, IndexError, TypeError, ValueError):
            raise _refused("it gave no choice") from None

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self.client.post(f"{self.url}{path}", json={"model": self.model, **body}, timeout=TIMEOUT_S)
            row = answer.json() if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError) as error:
            raise _refused(f"{path}: {error or type(error).__name__}") from error
        if not isinstance(row, dict):
            raise _refused(f"{path}: HTTP {answer.status_code}: {answer.text[:200]}")
        return row


def _of(row: Any, token: int) -> float:
    """One place of `prompt_logprobs`: token id -> {"logprob", "rank", "decoded_token"}."""
    try:
        return float(row[str(token)]["logprob"])
    except (KeyError, TypeError, ValueError):
        raise _refused("it told no log-probability of a token") from None


def _refused(what: str) -> VtuneError:
    return VtuneError(f"the engine can't be asked how likely a text is: {what}", "the texts are compared all the same")
