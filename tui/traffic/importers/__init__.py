"""Turns traffic that others recorded into recordings of vtune."""

from tui.traffic.importers.importing import import_file, opened
from tui.traffic.importers.options import Options
from tui.traffic.importers.report import Report

__all__ = ["Options", "Report", "import_file", "opened"]
