"""How a question and its passages become the body of a chat request."""

from dataclasses import dataclass
from typing import Any

from .knowledge import Knowledge, Passage


@dataclass(frozen=True)
class Settings:
    """What is the same for all turns of a conversation."""

    model: str
    instructions: str  # the system message: same bytes in every conversation, so that it can be cached
    passages: int = 4  # retrieved for the first question
    more_passages: int = 1  # retrieved for each later one, unless already quoted
    max_tokens: int = 128
    temperature: float = 0.0
    seed: int | None = None


class Conversation:
    """The messages so far. `ask` gives the next request, `answered` keeps its answer."""

    def __init__(self, knowledge: Knowledge, settings: Settings, documents: list[str] | None = None) -> None:
        self._knowledge = knowledge
        self._settings = settings
        self._documents = documents  # fixed passages for the first question, instead of a search
        self._messages = [{"role": "system", "content": settings.instructions}]
        self._quoted: set[str] = set()
        self._last_question = ""

    def ask(self, question: str) -> dict[str, Any]:
        """The body of the request for `question`; `answered` or `ask` may follow."""
        passages = [p for p in self._find(question) if p.name not in self._quoted]
        self._quoted.update(p.name for p in passages)
        self._last_question = question
        self._messages.append({"role": "user", "content": _message(passages, question)})
        return self._body()

    def answered(self, text: str) -> None:
        """Keep the answer to the last question as part of the conversation."""
        self._messages.append({"role": "assistant", "content": text})

    def _find(self, question: str) -> list[Passage]:
        if self._last_question:
            # "And for two of them?" alone finds nothing: the question before gives it a topic.
            return self._knowledge.search(f"{self._last_question} {question}", self._settings.more_passages)
        if self._documents is not None:
            return self._knowledge.named(self._documents)
        return self._knowledge.search(question, self._settings.passages)

    def _body(self) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": list(self._messages),
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if settings.seed is not None:
            body["seed"] = settings.seed
        return body


def _message(passages: list[Passage], question: str) -> str:
    if not passages:
        return question
    quoted = "\n\n".join(f"[{passage.name}]\n{passage.text}" for passage in passages)
    return f"Passages:\n\n{quoted}\n\nQuestion: {question}"
