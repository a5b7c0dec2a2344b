"""Engines that were started alike, told together: a comparison starts a new one for every replay."""

from collections.abc import Sequence

from tui.session.arm import without_port
from tui.session.report.material import Material
from tui.session.state import EngineRecord


def alike(material: Material) -> list[list[EngineRecord]]:
    """In the order of the first of each; one that failed stands alone."""
    found: dict[object, list[EngineRecord]] = {}
    for number, engine in sorted(material.state.engines.items()):
        env = tuple(sorted((k, v) for k, v in engine.env.items() if k != "VTUNE_LAUNCH"))
        key = number if engine.failure is not None else (
            without_port(engine.argv), env, engine.python, tuple(sorted(engine.asked.items())),
            tuple(sorted((k, str(v)) for k, v in engine.applied.items())), engine.mismatches, engine.vllm, engine.model,
            engine.device, engine.block_size, engine.kv_cache_tokens, engine.start_kind, engine.warnings,
            engine.url if engine.start_kind == "attached" else None,
        )  # fmt: skip
        found.setdefault(key, []).append(engine)
    return list(found.values())


def named(engines: Sequence[EngineRecord]) -> str:
    """``engine 1`` or ``engines 1, 4``."""
    return f"engine{'s' if len(engines) > 1 else ''} {', '.join(str(engine.number) for engine in engines)}"
