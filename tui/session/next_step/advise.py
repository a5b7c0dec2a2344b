"""Which rule speaks first, and what this engine can do."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tui.engine import availability, combinations, levers
from tui.engine.lever import Surroundings
from tui.errors import VtuneError
from tui.session.next_step import memory, reuse, scheduling, speculation
from tui.session.next_step.back import back
from tui.session.next_step.step import Can, Result, Step, applied, part, percent
from tui.session.state import EngineRecord, State

# Reuse, scheduling, memory, speculation: what comes first makes what comes later cheaper.
RULES = (
    reuse.caching_off,
    reuse.evicted,
    reuse.smaller_blocks,
    scheduling.behind_long,
    memory.full,
    speculation.not_paying,
    speculation.too_many,
    speculation.would_copy,
)
FEWEST = 3  # requests that succeeded
MOST_FAILED = 0.1


def advise(result: Result, can: Can) -> Step | None:
    """The step after a run; None where the run tells too little. Pure."""
    ok, rate = part(result, "requests", "ok") or 0, part(result, "requests", "error_rate") or 0.0
    if ok < FEWEST or rate > MOST_FAILED:
        return None

    def may(lever: str, value: str) -> bool:
        return _changes(result, lever, value) and can(lever, value)

    if (step := _first(result, may)) is not None:
        return step
    wanted = _first(result, lambda lever, value: True)
    if wanted is None:
        return _nothing(result)
    return Step(None, None, f"{wanted.why}; what helps there was tried, or can't be had here")


def _first(result: Result, can: Can) -> Step | None:
    return next((step for rule in RULES if (step := rule(result, can)) is not None), None)


def _changes(result: Result, lever: str, value: str) -> bool:
    now = applied(result, lever)
    return now is None or not (now == value or levers.get(lever).matches(value, now))


def _nothing(result: Result) -> Step:
    """With the figures by which nothing stands out."""
    prefix, kv, spec = (part(result, name) or {} for name in ("prefix_cache", "kv_cache", "speculative"))
    rate, ceiling, peak = prefix.get("hit_rate"), prefix.get("ceiling"), kv.get("usage_peak")
    on, copied = spec.get("state") == "on", part(spec, "copied", "share")
    words = [
        None if rate is None or ceiling is None else f"hits reach {percent(rate)} of {percent(ceiling)} possible",
        f"at most {percent(ceiling)} could be reused" if rate is None and ceiling is not None else None,
        None if peak is None else f"the KV pool was at most {percent(peak)} full",
        "no preemption" if kv.get("preemptions") == 0 else None,
        f"{spec['tokens_per_step']:.2f} tokens a step" if on and spec.get("tokens_per_step") else None,
        f"{percent(copied)} of the answers' words could have been copied" if copied is not None and not on else None,
    ]
    found = [sentence for sentence in words if sentence]
    return Step(None, None, ", ".join(found) or "no figure stands out")


def of_session(state: State) -> tuple[int, Step] | None:
    """(run, step) after the newest run that went through; None without one."""
    ended = [n for n, run in state.runs.items() if run.state == "done" and run.result is not None]
    if not ended or state.comparison is not None:
        return None
    run = state.runs[max(ended)]
    engine = state.engines.get(run.engine)
    if engine is None or engine.start_kind == "attached":
        return None  # its levers are not vtune's to change
    step = advise(run.result or {}, can_of(state, engine))
    if step is not None and step.lever is None:
        step = back(state, run) or step
    return None if step is None else (run.number, step)


def can_of(state: State, engine: EngineRecord | None) -> Can:
    """What the engine's install has, and was neither tried in this session nor refused."""
    around = _surroundings(engine)
    tried = {
        (name, value)
        for run in state.runs.values()
        if run.state == "done" and run.engine in state.engines
        for name, value in _all_values(state.engines[run.engine])
    }
    refused = {(name, value) for name, (value, _) in state.refused.items()}

    def can(lever: str, value: str) -> bool:
        if engine is None:
            return False
        words = _words(lever, value, around, engine.install.get("levers", {}).get(lever))
        return words is not None and not {(lever, value), (lever, words)} & (tried | refused)

    return can


def _all_values(engine: EngineRecord) -> list[tuple[str, str]]:
    values: Mapping[str, str | None] = {**engine.asked, **{k: v for k, v in engine.applied.items() if v is not None}}
    return [(name, value) for name, value in values.items() if value is not None]


def _surroundings(engine: EngineRecord | None) -> Surroundings:
    if engine is None:
        return Surroundings()
    told = availability.from_json(engine.install)
    known = told.platform != "other"
    here = "cpu" if (engine.device or "").upper().startswith("CPU") else "other"
    return replace(
        told,
        platform=told.platform if known else here,
        version=told.version or engine.vllm,
        env={**told.env, **engine.env},
        values={name: value for name, value in engine.asked.items() if "raw." not in (name[:4], value[:4])},
        max_model_len=told.max_model_len or engine.max_model_len,
    )


def _words(name: str, value: str, around: Surroundings, offered: Mapping[str, Any] | None) -> str | None:
    """The value in force if it were asked for; None where this install lacks it, or vLLM would refuse it."""
    lever = levers.get(name)
    if not offered["available"] if offered is not None else availability.missing(lever, around) is not None:
        return None
    # A lever that is set replaces the variables that say the same.
    around = replace(around, env={key: word for key, word in around.env.items() if key not in lever.owns_env})
    try:
        words = lever.settle(lever.parse(value), around)
        combinations.refuse(replace(around, values={**around.values, name: words}))
    except VtuneError:
        return None
    return words
