"""The Markdown report, section by section."""

from tui.session.report import closing, comparison, environment, lab, levers, opening, recording, run, runs
from tui.session.report.material import Material


def write(material: Material) -> str:
    sections = [
        opening.title(material),
        opening.summary(material),
        lab.section(material),
        comparison.section(material),
        environment.section(material),
        levers.section(material),
        recording.section(material),
        runs.section(material),
        *(run.section(one) for one in material.runs),
        closing.caveats(material),
        closing.repeat(material),
        closing.profile(material),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"
