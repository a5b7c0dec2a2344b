"""Caveats, the commands that do it again, and the profile."""

import shlex
from pathlib import PurePath

from tui.session import secrets
from tui.session.report.engines import named
from tui.session.report.markdown import bullets, escaped, fence, one_line
from tui.session.report.material import Material, RunMaterial
from tui.session.state import EngineRecord, State


def caveats(material: Material) -> str:
    found = all_caveats(material)
    return "\n\n".join(["## Caveats", bullets(found) if found else "None that vtune knows of."])


def all_caveats(material: Material) -> list[str]:
    """One line a caveat, with the runs that it is about."""
    runs_of: dict[str, list[int]] = {}
    for run in material.runs:
        for words in run.result["caveats"]:
            runs_of.setdefault(words, []).append(run.number)
    found = [f"{_named(numbers)}: {escaped(words)}" for words, numbers in runs_of.items()]
    return [*_of_the_session(material), *found, *_warned(material)]


def _named(numbers: list[int]) -> str:
    return f"run{'s' if len(numbers) > 1 else ''} {', '.join(str(n) for n in numbers)}"


def _of_the_session(material: Material) -> list[str]:
    state = material.state
    found = [
        f"engine {e.number} {escaped(e.state)}: {escaped(e.failure[0])}"
        for _, e in sorted(state.engines.items())
        if e.failure is not None
    ]
    if material.comparison is not None:
        found += [escaped(words) for words in material.comparison["caveats"]]
    elif len(material.runs) > 1 and not _repeated(material):
        found.append("no A/A runs were made: how far two equal runs differ by chance is unknown")
    if state.lab is None and len({run.result["recording"]["sha256"] for run in material.runs}) > 1:
        found.append("the runs did not all replay the same recording")
    if len({(run.record.pace_text, run.result["pace"]["speed"]) for run in material.runs}) > 1:
        found.append("the runs did not all have the same pace")
    if material.comparison is None and len({e.start_kind for e in _used(material)}) > 1:
        found.append("the engines were not all started the same way")
    if not state.closed:
        found.append("the session was not closed: it still runs, or it was broken off")
    return found


def _warned(material: Material) -> list[str]:
    """What vLLM itself, or vtune, warned of for which engines; a comparison may have told it by arm already."""
    told = material.comparison["caveats"] if material.comparison is not None else ()
    engines: dict[str, list[EngineRecord]] = {}
    for _, engine in sorted(material.state.engines.items()):
        for words in engine.warnings:
            if not any(caveat.endswith(f": {words}") for caveat in told):
                engines.setdefault(words, []).append(engine)
    return [f"{named(found)}: warning: {escaped(words)}" for words, found in engines.items()]


def _repeated(material: Material) -> bool:
    """Whether some arm was replayed twice in the same way."""
    made = [
        (sorted(run.engine.asked.items()), run.result["recording"]["sha256"], run.record.pace_text)
        for run in material.runs
        if run.engine is not None and run.record.state == "done"
    ]
    return any(one in made[:place] for place, one in enumerate(made))


def _used(material: Material) -> list:
    return [run.engine for run in material.runs if run.engine is not None]


def repeat(material: Material) -> str:
    if not material.runs:
        return ""
    plan = material.state.comparison
    making = _comparing if material.state.lab is None else _experimenting
    lines = [making(material.runs[0], material.state, plan)] if plan else []
    lines += [] if plan else [_command(run, material.state) for run in material.runs]
    return "\n\n".join(["## Repeat it", fence("\n".join(lines), "sh")])


def _comparing(run: RunMaterial, state: State, plan: dict) -> str:
    words = ["vtune", "compare", _reference(run.record.recording, "recordings"), *_profile_words(state, _set(state))]
    words += [part for vary in plan["vary"] for part in ("--vary", vary)]
    words += ["--rounds", str(plan["rounds"]), *_traffic_words(run)]
    words += ["--start", "warm"] if plan["start"] == "warm" else []
    words += [] if plan.get("check", True) else ["--no-check"]
    words += ["--json", "comparison.json"]
    return " ".join(shlex.quote(one_line(word)) for word in words)


def _experimenting(run: RunMaterial, state: State, plan: dict) -> str:
    """The arms are named where another engine's speed would choose others."""
    lab = state.lab or {}
    lever, _, values = plan["vary"][0].partition("=")
    settings = {name: value for name, value in _set(state).items() if name != lever}
    words = ["vtune", "lab", str(lab["study"]), *_profile_words(state, settings)]
    words += [] if lab["control"] else ["--arms", values]
    words += ["--start", plan["start"]]
    words += [] if plan.get("check", True) else ["--no-check"]
    words += ["--scale", f"{lab['scale']:g}", "--rounds", str(plan["rounds"]), "--seed", str(plan["seed"])]
    return " ".join(shlex.quote(one_line(word)) for word in [*words, "--json", "comparison.json"])


def _command(run: RunMaterial, state: State) -> str:
    words = ["vtune", "replay", _reference(run.record.recording, "recordings"), *_engine_words(run, state)]
    words += _traffic_words(run)
    words += ["--label", run.record.label] if run.record.label else []
    words += ["--json", f"run-{run.number}.json"]
    return " ".join(shlex.quote(one_line(word)) for word in words)


def _traffic_words(run: RunMaterial) -> list[str]:
    options = run.record.meta.get("options", {})
    words = ["--pace", run.record.pace_text] if run.record.pace_text else []
    words += ["--speed", f"{options['speed']:g}"] if options.get("speed", 1.0) != 1.0 else []
    words += ["--limit", str(options["limit"])] if options.get("limit") else []
    words += ["--seed", str(options["seed"])] if options.get("seed") else []
    words += ["--cache", "keep"] if options.get("cache") == "keep" else []
    words += ["--live-turns"] if options.get("live_turns") else []
    words += ["--fix-lengths"] if options.get("fix_lengths") else []
    return words


def _engine_words(run: RunMaterial, state: State) -> list[str]:
    """--url of an attached engine, else the profile, what the session set on it, and the levers changed since."""
    engine = run.engine
    if engine is not None and engine.start_kind == "attached":
        return ["--url", engine.url or "URL"]
    asked_first = state.profile.get("levers") or {}
    changed = {k: v for k, v in (engine.asked if engine else {}).items() if asked_first.get(k) != v}
    return _profile_words(state, _set(state) | changed)


def _set(state: State) -> dict[str, str]:
    """What --set gave the session's profile."""
    told = secrets.settings(state.profile.get("settings") or ())
    return dict(word.split("=", 1) for word in told if "=" in word)


def _profile_words(state: State, settings: dict[str, str]) -> list[str]:
    words = [f"{name}={value}" for name, value in settings.items()]
    return ["--profile", _reference(state.profile, "profiles"), *(part for word in words for part in ("--set", word))]


def _reference(row: dict, kind: str) -> str:
    """The bare name of what ships or lies in the user's folder of that kind, else the path."""
    path, name = str(row.get("path") or ""), str(row.get("name") or "")
    place = PurePath(path)
    if not path or (place.parent.name == kind and place.name.split(".")[0] == name):
        return name or kind.rstrip("s").upper()
    return path


def profile(material: Material) -> str:
    text = material.state.profile.get("text")
    return "\n\n".join(["## Profile", fence(secrets.yaml(text), "yaml")]) if text else ""
