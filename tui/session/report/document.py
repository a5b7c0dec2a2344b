"""The Markdown report, section by section, and the figures that lie beside it."""

from collections.abc import Mapping

from tui.session.report import closing, comparison, environment, lab, levers, next_step, opening, recording, run, runs
from tui.session.report.markdown import picture
from tui.session.report.material import Material


def write(material: Material, figures: Mapping[str, tuple[str, str]] | None = None) -> str:
    """`figures`: what is drawn -> (alternative text, file name beside the report); without them text alone."""
    shown = {what: picture(*figure) for what, figure in (figures or {}).items()}
    sections = [
        opening.title(material),
        opening.summary(material),
        shown.get("ttft", ""),
        lab.section(material),
        comparison.section(material),
        environment.section(material),
        levers.section(material),
        recording.section(material),
        runs.section(material),
        shown.get("course", ""),
        next_step.section(material),
        *(run.section(one) for one in material.runs),
        closing.caveats(material),
        closing.repeat(material),
        closing.profile(material),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"
