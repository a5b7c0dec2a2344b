"""The result of a run (`vtune.run/1`), made of its requests, its scrapes and what the journal says."""

from tui.session.result.build import SCHEMA, build_result, result_of
from tui.session.result.ratios import paired_ratios

__all__ = ["SCHEMA", "build_result", "paired_ratios", "result_of"]
