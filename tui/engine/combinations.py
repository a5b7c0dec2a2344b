"""The check before a start: what vLLM will refuse, override or move along when levers are asked for together.

Each rule cites the fact that it rests on. What a rule expects of the running engine is compared with what
the engine says after its start, and a difference is told: then the rule was wrong for that version.
"""

from collections.abc import Iterable
from dataclasses import replace

from tui.engine import rules_kernel, rules_memory, rules_scheduling, rules_speculation
from tui.engine.combination import Finding, Rule
from tui.engine.lever import Surroundings, Words
from tui.errors import VtuneError

__all__ = ["RULES", "Finding", "Rule", "expected", "look", "refuse"]

RULES: tuple[Rule, ...] = (
    *rules_scheduling.RULES,
    *rules_memory.RULES,
    *rules_speculation.RULES,
    *rules_kernel.RULES,
)


def look(around: Surroundings) -> tuple[Finding, ...]:
    """All that the rules find, what is refused first."""
    found = [replace(finding, rule=rule.name) for rule in RULES if (finding := rule.look(around)) is not None]
    order = ("refused", "overridden", "moved", "caution")
    return tuple(sorted(found, key=lambda finding: order.index(finding.kind)))


def refuse(around: Surroundings) -> tuple[Finding, ...]:
    """What the rules find; VtuneError for what vLLM would refuse, so that nothing is started in vain."""
    found = look(around)
    for finding in found:
        if finding.kind == "refused":
            raise VtuneError(finding.what, finding.mend)
    return found


def expected(found: Iterable[Finding]) -> dict[str, Words]:
    """Lever -> what the running engine will say, by the findings."""
    return {name: words for finding in found for name, words in finding.expects.items()}
