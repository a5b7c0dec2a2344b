"""What the stand-in was asked to be: vLLM's flags from the command line, its own switches from the environment."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CAPTURED = Path(__file__).resolve().parent / "captured"


def captured(name: str) -> str:
    return (CAPTURED / name).read_text(encoding="utf-8")


_SWITCHES = {
    **dict.fromkeys(("base_ms", "token_ms", "step_ms", "start_s", "keep_alive_s"), float),
    **dict.fromkeys(("refuse", "stuck", "fault", "version"), str),
    "exit": int,
}


@dataclass
class Settings:
    """STANDIN_<NAME> in the environment sets the fields of the first group."""

    base_ms: float = 20.0  # of every TTFT
    token_ms: float = 0.05  # per prompt token that is not cached
    step_ms: float = 2.0  # per decode step
    start_s: float = 0.3  # from the first log line to ready
    keep_alive_s: float = 5.0  # idle connections are closed after this, as vLLM does
    refuse: str = ""  # die at start with this log: a name in captured/failures, or a path
    exit: int = 1  # exit code of that
    stuck: str = ""  # "start": never ready; "term": ignores SIGTERM
    tree: bool = False  # also start an EngineCore and a Worker process
    version: str = "0.32.0"  # of vLLM, as its /version says
    fault: str = ""  # JSON of faults for every request, see faults.py

    flags: dict[str, Any] = field(default_factory=dict)  # vLLM's flags without dashes; True, text, or a list of text
    dev_mode: bool = True

    @classmethod
    def read(cls, argv: Sequence[str] = (), env: Mapping[str, str] = os.environ) -> "Settings":
        own = cls(flags=read_flags(argv), dev_mode=env.get("VLLM_SERVER_DEV_MODE") == "1")
        for name, kind in _SWITCHES.items():
            if (word := env.get(f"STANDIN_{name.upper()}")) is not None:
                setattr(own, name, kind(word))
        own.tree = env.get("STANDIN_TREE") == "1"
        return own

    def text(self, flag: str, default: str = "") -> str:
        value = self.flags.get(flag, default)
        return value[0] if isinstance(value, list) else str(value)

    def number(self, flag: str, default: int) -> int:
        return int(self.text(flag, str(default)))

    def on(self, flag: str, default: bool) -> bool:
        if f"no-{flag}" in self.flags:
            return False
        return True if flag in self.flags else default

    @property
    def model(self) -> str:
        return self.text("model", "/models/smollm2-135m")

    @property
    def served(self) -> str:
        return self.text("served-model-name", self.model)

    @property
    def host(self) -> str:
        return self.text("host", "127.0.0.1")

    @property
    def port(self) -> int:
        return self.number("port", 8000)

    @property
    def max_model_len(self) -> int:
        return self.number("max-model-len", 8192)

    @property
    def block_size(self) -> int:
        return self.number("block-size", 128)

    @property
    def kv_dtype(self) -> str:
        return self.text("kv-cache-dtype", "auto")

    @property
    def kv_blocks(self) -> int:
        """364 blocks of 128 in the captured engine; half the bytes give twice the tokens."""
        if override := self.number("num-gpu-blocks-override", 0):
            return override
        return 364 * 128 // self.block_size * (2 if self.kv_dtype.startswith("fp8") else 1)

    @property
    def prefix_caching(self) -> bool:
        return self.on("enable-prefix-caching", True)

    @property
    def speculation(self) -> dict[str, Any] | None:
        text = self.text("speculative-config", self.text("sc"))
        if text:
            return json.loads(text)
        if method := self.text("spec-method"):
            return {"method": method, "num_speculative_tokens": self.number("spec-tokens", 4)}
        return None


def read_flags(argv: Sequence[str]) -> dict[str, Any]:
    """Flags as vLLM reads them: ``--a-b``, ``--a_b``, ``--a=b``, several values; the last one wins."""
    flags: dict[str, Any] = {}
    name = ""
    for word in argv:
        if word.startswith("-") and not _is_number(word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("_", "-")
            flags.pop(name.removeprefix("no-") if name.startswith("no-") else f"no-{name}", None)
            flags[name] = value if equals else True
        elif not name:
            flags["model"] = word  # `vllm serve MODEL`
        elif flags[name] is True:
            flags[name] = word
        else:
            flags[name] = [*(flags[name] if isinstance(flags[name], list) else [flags[name]]), word]
    return flags


def _is_number(word: str) -> bool:
    return word.removeprefix("-").replace(".", "", 1).isdigit()
