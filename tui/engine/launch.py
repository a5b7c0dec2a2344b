"""What is needed to start one engine."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Launch:
    """A server to start: command line, environment additions, and where it will answer.

    `argv` is the whole command, interpreter first; `env` holds additions to vtune's own environment, not all of it.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    python: str  # the interpreter that has vLLM
    host: str
    port: int
    url: str  # http://host:port, no trailing slash
    model: str  # the served name, as requests give it
    launch_id: str  # in the environment of every member as VTUNE_LAUNCH
    asked: dict[str, str] = field(default_factory=dict)  # lever -> value in the words of --set
    also: tuple[str, ...] = ()  # URLs of further engines that are watched with it, where vtune owns none of them
    install: dict[str, Any] = field(default_factory=dict)  # what the levers see here, and what is on offer: JSON
    expected: dict[str, str] = field(default_factory=dict)  # lever -> what the engine will say, by the rules
    platform: str = "other"  # cpu, cuda, rocm
    preload: bool = False  # map the weights from a daemon that keeps them on the GPU
    warnings: tuple[str, ...] = ()  # told before it starts
    pin_pool: bool = True  # on a GPU: the KV pool of the first engine that was alike

    @property
    def on_gpu(self) -> bool:
        return self.platform in ("cuda", "rocm")
