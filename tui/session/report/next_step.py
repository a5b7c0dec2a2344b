"""What is worth trying after the newest run."""

from tui.session.next_step import of_session
from tui.session.report.markdown import code, escaped
from tui.session.report.material import Material


def section(material: Material) -> str:
    found = of_session(material.state)
    if found is None:
        return ""
    number, step = found
    if step.back is not None:
        words = f"After run {number}, go back to the levers of run {step.back}: {escaped(step.why)}."
    elif step.setting is None:
        words = f"After run {number} nothing is worth trying: {escaped(step.why)}."
    else:
        words = f"After run {number}, try {code(step.setting)}: {escaped(step.why)}."
    return "\n\n".join(["## Next step", words])
