"""The tokens of prompts without an engine: the model's own tokenizer, in the engine's interpreter."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.engine import model
from tui.engine.settings import Profile
from tui.errors import Exit, VtuneError

_SCRIPT = Path(__file__).parent / "inside" / "tokenise.py"


@dataclass
class Tokenizer:
    """Token ids of request bodies, chat template applied; see `opened`."""

    _process: "subprocess.Popen[str]"

    def ids(self, bodies: Sequence[dict[str, Any]]) -> list[list[int]]:
        """Raises VtuneError where the template or tokenizer refuses a body, or the interpreter ends."""
        return [self._of(body) for body in bodies]

    def _of(self, body: dict[str, Any]) -> list[int]:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(body) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise VtuneError("the tokenizer of this model can't be loaded by the engine's interpreter",
                             "is the model there, with its tokenizer? `vtune doctor` says", Exit.ENGINE)  # fmt: skip
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise VtuneError(f"the model's tokenizer refuses a prompt: {answer['error']}",
                             "leave --profile out to count characters instead")  # fmt: skip
        return answer


@contextmanager
def opened(profile: Profile, python: str) -> Iterator[Tokenizer]:
    """The tokenizer of the profile's model; only what is on this machine is read."""
    args = profile.engine.args
    asked = args.get("tokenizer") or model.given(profile.engine.model)
    template = args.get("chat-template")
    command = [python, str(_SCRIPT), str(asked), *([str(template)] if template else [])]
    # stderr goes nowhere: what matters is said in the answers, and libraries warn a lot.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    )
    try:
        yield Tokenizer(process)
    finally:
        assert process.stdin and process.stdout
        process.stdin.close()
        process.terminate()
        process.wait(10)
        process.stdout.close()
