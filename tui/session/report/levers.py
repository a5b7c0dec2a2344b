"""Levers as asked and as applied, an engine a column, differences marked."""

from tui.session.report.engines import alike, named
from tui.session.report.markdown import bullets, code, escaped, table
from tui.session.report.material import Material
from tui.session.state import EngineRecord


def section(material: Material) -> str:
    groups = alike(material)
    engines = [group[0] for group in groups]
    names = list(dict.fromkeys(name for engine in engines for name in (*engine.asked, *engine.applied)))
    if not names:
        return ""
    head = ["lever", *(named(group) for group in groups)]
    rows = [[escaped(name), *(_cell(engine, name) for engine in engines)] for name in names]
    words = "One value: asked and read back alike. **Bold**: the engine runs something else than it was asked to."
    found = [f"{named(group)}: {escaped(sentence)}" for group in groups for sentence in group[0].mismatches]
    return "\n\n".join(part for part in ["## Levers", words, table(head, rows, len(head)), bullets(found)] if part)


def _cell(engine: EngineRecord, name: str) -> str:
    asked, applied = engine.asked.get(name), engine.applied.get(name)
    if asked is None:
        return f"{code(applied)} (not asked)" if applied is not None else "–"
    if applied is None:
        return f"{code(asked)} (applied: unknown)"
    if any(sentence.startswith(f"{name}:") for sentence in engine.mismatches):
        return f"**asked {code(asked)}, runs {code(applied)}**"
    return code(asked) if asked == applied else f"{code(asked)}, runs {code(applied)}"
