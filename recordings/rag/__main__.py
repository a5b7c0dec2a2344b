"""The command line: one question, a conversation, or a whole question script."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .client import Answer, RequestFailed, chat
from .conversation import Conversation, Settings
from .knowledge import Knowledge
from .player import Player
from .recorder import Recorder
from .script import load

HERE = Path(__file__).resolve().parent.parent


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("rag", description="Ask a folder of Markdown files, or play a question script.")
    parser.add_argument("question", nargs="?", help="without it, questions are read from the terminal")
    parser.add_argument("--url", required=True, help="an OpenAI-compatible server, as in http://127.0.0.1:8000")
    parser.add_argument("--model", required=True, help="the name under which it serves the model")
    parser.add_argument("--docs", type=Path, default=HERE / "handbook/docs", help="the folder with the passages")
    parser.add_argument("--prompts", type=Path, default=HERE / "handbook/prompts", help="the folder with instructions")
    parser.add_argument("--instructions", default="assistant", help="which of them (default: assistant)")
    parser.add_argument("--passages", type=int, default=4, help="how many to retrieve (default: 4)")
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--script", type=Path, help="play this question script instead")
    parser.add_argument("--speed", type=float, default=1.0, help="divides the waits of the script")
    parser.add_argument("--record", type=Path, help="write the traffic as vtune.recording/1")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", help="the variable that holds the key, if any")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    given = _arguments(argv)
    knowledge = Knowledge(given.docs)
    try:
        if given.script:
            _play(given, knowledge)
        else:
            _converse(given, knowledge)
    except RequestFailed as error:
        print(f"rag: {_plain(str(error))}", file=sys.stderr)
        return 1
    return 0


def _play(given: argparse.Namespace, knowledge: Knowledge) -> None:
    key = os.environ.get(given.api_key_env)
    script = load(given.script, given.prompts, given.model)

    def send(body: dict[str, Any]) -> Answer:
        return chat(given.url, body, key, lambda text: None)

    recorder = Player(knowledge, send, _report, given.speed).play(script)
    if given.record:
        recorder.write(given.record, script.name, script.notes, synthetic=True)


def _converse(given: argparse.Namespace, knowledge: Knowledge) -> None:
    key = os.environ.get(given.api_key_env)
    instructions = (given.prompts / f"{given.instructions}.md").read_text(encoding="utf-8").strip()
    settings = Settings(given.model, instructions, given.passages, max_tokens=given.max_tokens)
    conversation, recorder = Conversation(knowledge, settings), Recorder()
    after, ended = None, 0.0
    for number, question in enumerate(_questions(given.question), 1):
        at = recorder.now()
        body = conversation.ask(question)
        answer = chat(given.url, body, key, lambda text: print(_plain(text), end="", flush=True))
        print()
        conversation.answered(answer.text)
        recorder.add(str(number), at, body, answer, None, after, round(at - ended, 2) if after else None)
        after, ended = str(number), recorder.now()
    if given.record:
        recorder.write(given.record, given.record.stem, "a conversation at the terminal", synthetic=False)


def _questions(question: str | None) -> Iterator[str]:
    """The question given, or lines from the terminal until an empty one."""
    if question:
        yield question
        return
    while question := _line():
        yield question


def _line() -> str:
    try:
        return input("? ").strip()
    except EOFError:
        return ""


def _plain(text: str) -> str:
    """A model's words without control codes, which a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _report(id: str, answer: Answer) -> None:
    usage = answer.usage or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", "?")
    ttft = "?" if answer.ttft_s is None else f"{answer.ttft_s:.2f}"
    counts = f"{usage.get('prompt_tokens', '?')} prompt ({cached} cached) {usage.get('completion_tokens', '?')} output"
    print(f"{id:12} ttft {ttft} s  e2e {answer.e2e_s:.2f} s  {counts}  {_plain(answer.text)[:50]!r}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
