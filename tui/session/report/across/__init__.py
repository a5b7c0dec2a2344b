"""Several sessions in one report: another day, another vLLM, another machine, and whether they can be compared."""

from tui.session.report.across.build import Across, compare, letter, told
from tui.session.report.across.document import write

__all__ = ["Across", "compare", "letter", "told", "write"]
