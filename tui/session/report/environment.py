"""Where it ran: the machine, and per engine its versions and exact command line."""

import shlex
from collections.abc import Sequence

from tui.session import secrets
from tui.session.report.engines import alike as engines_alike
from tui.session.report.engines import named
from tui.session.report.figures import count, seconds, size
from tui.session.report.markdown import bullets, code, escaped, fence, table
from tui.session.report.material import Material
from tui.session.state import EngineRecord

_STARTS = {"plain": "plain start", "warm": "warm start", "parked": "was parked", "attached": "attached, not owned"}


def section(material: Material) -> str:
    engines = [_engine(alike, material) for alike in engines_alike(material)]
    return "\n\n".join(["## Environment", _machine(material), *engines])


def _machine(material: Material) -> str:
    header = material.state.header
    host = header.get("host") or {}
    cores = f", {host['cores']} cores" if host.get("cores") else ""
    rows = [
        ("vtune", header.get("vtune")),
        ("begun", header.get("created_at")),
        ("system", " ".join(str(host[k]) for k in ("system", "machine") if host.get(k)) or None),
        ("CPU", f"{host['cpu']}{cores}" if host.get("cpu") else None),
        ("memory", size(host.get("memory_bytes"))),
        ("Python of vtune", host.get("python")),
    ]
    return table(("", "value"), [(name, escaped(value or "unknown")) for name, value in rows], left=2)


def _engine(alike: Sequence[EngineRecord], material: Material) -> str:
    engine, own = alike[0], {one.number for one in alike}
    numbers = [str(run.number) for run in material.runs if run.record.engine in own]
    used = f" (run{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else ""
    starts = dict.fromkeys(seconds(one.start_s) for one in alike if one.start_s is not None)
    took = f" in {', '.join(starts)}" if starts else ""
    lines = [
        f"vLLM {escaped(engine.vllm or 'unknown')}, model {code(engine.model or 'unknown')}, "
        f"device {escaped(engine.device or 'unknown')}",
        f"{_STARTS.get(engine.start_kind or '', 'start unknown')}{took}",
        f"KV cache {count(engine.kv_cache_tokens)} tokens in blocks of {count(engine.block_size)}",
        f"address {code(engine.url)}" if engine.start_kind == "attached" and engine.url else None,
        _failure(engine),
    ]
    name = named(alike)
    parts = [f"### {name[0].upper()}{name[1:]}{used}", bullets(lines)]
    if engine.argv:
        parts.append(fence(command_line(engine), "sh"))
    return "\n\n".join(parts)


def _failure(engine: EngineRecord) -> str | None:
    if engine.failure is None:
        return None
    what, mend = engine.failure
    return f"**{escaped(engine.state)}: {escaped(what)}**" + (f" (mend: {escaped(mend)})" if mend else "")


def command_line(engine: EngineRecord) -> str:
    """Environment additions and command as a shell takes them, a flag a line; secrets are withheld."""
    words = [f"{name}={shlex.quote(value)}" for name, value in secrets.env(engine.env).items()]
    line = ""
    for word in secrets.argv(engine.argv):
        if word.startswith("--") and line:
            words.append(line)
            line = ""
        line = f"{line} {shlex.quote(word)}".strip()
    return " \\\n  ".join([*words, line])
