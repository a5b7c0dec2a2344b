"""One pass over a source: what is kept goes to the spool, what is not gets a counted reason."""

from collections.abc import Callable
from hashlib import blake2b

from tui.errors import VtuneError
from tui.traffic.importers import check, secrets
from tui.traffic.importers.clock import BadStamp, Clock
from tui.traffic.importers.format import Format
from tui.traffic.importers.found import Found, Skip, Told
from tui.traffic.importers.kept import Kept
from tui.traffic.importers.options import Options
from tui.traffic.importers.report import Report, counted
from tui.traffic.importers.source import Source

# What a source may be unfit for; a later stage refuses or flags these studies.
SPECULATION, PREFIX = "speculative decoding", "prefix caching"
STEP = 5000  # rows between two calls of `progress`


class Reading:
    """Fills `kept`, `clock`, `credentials` and the report."""

    def __init__(
        self,
        format: Format,
        options: Options,
        report: Report,
        kept: Kept,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._progress = progress
        self.format, self.options, self.report, self.kept = format, options, report, kept
        self.clock = Clock(options.time_unit, format.unit)
        self.credentials: set[str] = set()
        self._seen: set[bytes] = set()
        self.synthetic = False
        self._blind = 0  # made-up prompts of which nothing is known about what they share

    def read(self, source: Source) -> None:
        """Raises VtuneError for another encoding, and in strict mode for the first problem."""
        for number, item in enumerate(self.format.rows(source)):
            if self._progress and number % STEP == 0:
                self._progress(number)
            if isinstance(item, Told):
                self._hear(item)
                continue
            for one in check.split(item) if isinstance(item, Found) else (item,):
                if isinstance(one, Skip):
                    self.skip(one.line, one.reason, one.detail)
                else:
                    self._take(one)
        self.report.notes = [*source.notes, *self.report.notes]
        self._tell_made()
        if self.kept.twice:
            self.report.notes.append(
                f"{counted(self.kept.twice, 'id comes', 'ids come')} twice: every request has an id of its own now"
            )

    def _hear(self, told: Told) -> None:
        self.synthetic = self.synthetic or told.synthetic
        for lacking in told.lacks:
            self.report.lack(lacking)
        self.report.rules_out += [study for study in told.rules_out if study not in self.report.rules_out]

    def skip(self, line: int, reason: str, detail: str = "", problem: bool = True) -> None:
        if self.options.strict and problem:
            raise VtuneError(self.report.where(line, reason, detail), "mend the file, or import without --strict")
        self.report.skip(line, reason, detail)

    def _take(self, found: Found) -> None:
        self.credentials |= found.credentials
        if trouble := check.problem(found):
            self.skip(found.line, *trouble)
        elif found.failed and self.options.drop_failed:
            self.skip(found.line, "it failed when it was recorded (--drop-failed)", problem=False)
        elif self.options.dedupe and self._copy(found):
            self.skip(found.line, "an exact copy of an earlier one (--dedupe)", problem=False)
        else:
            self._keep(found)

    def _keep(self, found: Found) -> None:
        odd = (found.extra or {}).pop("odd", None)
        limited = check.limit(found)
        if self.options.mask_secrets and found.made is None:
            found.body = secrets.mask(found.body)
        try:
            self.clock.add(found.stamp)
        except BadStamp as error:
            self.skip(found.line, "not a time", str(error))
            return
        try:
            self.kept.add(found, self.format.links_by_answer)
        except (ValueError, RecursionError):
            self.clock.drop_last()
            self.skip(found.line, "it has a lone surrogate or a number beyond JSON, which cannot be sent")
            return
        for note in (odd, limited):
            if note:
                self.report.count(note)
        self._count(found)

    def _tell_made(self) -> None:
        """A prompt that shares nothing gives a floor of the hit rate, never an estimate."""
        if self._blind and self._blind == self.kept.made:
            self.report.lack("prefix information (the prompts share nothing)", PREFIX)
        elif self._blind:
            self.report.lack(
                f"prefix information of {self._blind} requests (their prompts share nothing: hit rates are a floor)"
            )

    def _copy(self, found: Found) -> bool:
        row = repr((found.stamp, found.path, found.body, found.made)).encode(errors="surrogatepass")
        digest = blake2b(row, digest_size=16).digest()
        before = len(self._seen)
        self._seen.add(digest)
        return len(self._seen) == before

    def _count(self, found: Found) -> None:
        report = self.report
        if found.failed:
            report.count("failed when recorded, kept for its arrival (--drop-failed leaves it out)")
        if found.redacted:
            report.count(f"stripped of {', '.join(found.redacted)}")
        if found.made is not None:
            report.lack("prompt text (the prompts are made-up tokens of the recorded length)", SPECULATION)
            if found.made.blocks is None:
                self._blind += 1
        elif self.options.mask_secrets:
            report.count("with keys and addresses masked at equal length, where there are any (--mask-secrets)")
        else:
            keys, mails = secrets.count(found.body.get("messages", found.body.get("prompt")))
            report.count("text that looks like a key, in a prompt (--mask-secrets masks it)", keys)
            report.count("mail address in a prompt (--mask-secrets masks it)", mails)
