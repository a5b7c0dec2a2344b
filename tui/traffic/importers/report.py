"""What an import read, kept and skipped, and what its source can't tell (schema ``vtune.import/1``)."""

from dataclasses import dataclass, field
from typing import Any

SCHEMA = "vtune.import/1"
EXAMPLES = 5


@dataclass(slots=True)
class Report:
    """Filled while a file is read; read = kept + skipped holds at the end."""

    file: str
    format: str = ""
    detected: str = ""
    kept: int = 0
    skipped: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    time: dict[str, Any] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    lacks: list[str] = field(default_factory=list)
    rules_out: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # note -> how often, in order of the first

    @property
    def read(self) -> int:
        return self.kept + sum(count for count, _ in self.skipped.values())

    def skip(self, line: int, reason: str, detail: str = "") -> None:
        count, examples = self.skipped.get(reason, (0, []))
        if len(examples) < EXAMPLES:
            examples.append(self.where(line, reason, detail))
        self.skipped[reason] = (count + 1, examples)

    def where(self, line: int, reason: str, detail: str = "") -> str:
        return plain(f"{self.file}:{line}: {detail or reason}")

    def count(self, note: str, by: int = 1) -> None:
        if by:
            self.counts[note] = self.counts.get(note, 0) + by

    def lack(self, what: str, *rules_out: str) -> None:
        """Something the source does not have, and the studies that its absence rules out."""
        if what not in self.lacks:
            self.lacks.append(what)
        self.rules_out += [study for study in rules_out if study not in self.rules_out]

    def all_notes(self) -> list[str]:
        return [*self.notes, *(f"{n} x {note}" for note, n in self.counts.items())]

    def to_json(self) -> dict[str, Any]:
        skipped = [{"reason": r, "count": n, "examples": list(e)} for r, (n, e) in self.skipped.items()]
        return {
            "schema": SCHEMA, "format": self.format, "detected": self.detected, "read": self.read, "kept": self.kept,
            "skipped": skipped, "time": self.time, "links": self.links, "lacks": self.lacks,
            "rules_out": self.rules_out, "notes": self.all_notes(),
        }  # fmt: skip

    def lines(self) -> list[str]:
        """For a person; every line is safe to print."""
        missed = self.read - self.kept
        told = [
            f"{self.file}: {self.format} ({self.detected})",
            f"read {self.read} = kept {self.kept} + skipped {missed}",
        ]
        for reason, (count, examples) in self.skipped.items():
            told += [f"  skipped {count}: {reason}", *(f"    {example}" for example in examples)]
        told.append(self._time_line())
        told += [f"note: {note}" for note in self.all_notes()]
        told += [f"lacks: {', '.join(self.lacks)}"] if self.lacks else []
        told += [f"rules out: {', '.join(self.rules_out)}"] if self.rules_out else []
        return [plain(line, keep_indent=True) for line in told]

    def _time_line(self) -> str:
        time = self.time
        if not time.get("unit"):
            return f"time: {time.get('assumed', 'unknown')}"
        rate = time.get("rate_per_s")
        pace = f", {rate:.4g} requests/s" if rate is not None else ""
        moved = f", {time['ties']} share a time, {time['reordered']} go back in time"
        return f"time: {time['unit']} ({time['assumed']}), span {time['span_s']:.6g} s{pace}{moved}"


def counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def plain(line: str, keep_indent: bool = False) -> str:
    """One line without control characters: it may quote a file from outside."""
    clean = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
    return clean if keep_indent else clean.strip()
