"""What one rule about levers together finds, and the rule itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tui.engine.lever import Surroundings, Words

Kind = Literal["refused", "overridden", "moved", "caution"]


@dataclass(frozen=True)
class Finding:
    """What vLLM will do with levers that were asked for together.

    `refused`: it would not start. `overridden`: it runs something else than asked. `moved`: something
    else changes along, so a gain can't be told apart. `caution`: it may, or it does nothing.
    """

    kind: Kind
    levers: tuple[str, ...]  # the one to change first
    what: str  # begins with the words at fault: block-size=16
    mend: str = ""
    expects: Mapping[str, Words] = field(default_factory=lambda: MappingProxyType({}))  # lever -> what will run
    rule: str = ""  # its name, set by `combinations.look`

    def sentence(self) -> str:
        return f"{self.what} ({self.mend})" if self.mend else self.what


@dataclass(frozen=True)
class Rule:
    """`fact` says where it is known from: vLLM's source (P: the package, of 0.32 unless said) or its own log."""

    name: str
    fact: str
    look: Callable[[Surroundings], Finding | None]
