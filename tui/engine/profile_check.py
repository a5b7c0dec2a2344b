"""What is wrong with a profile as a whole, though each of its values is fine by itself."""

from tui.engine import combinations, levers
from tui.engine.lever import Surroundings
from tui.engine.lever_memory import SHARES, STARTUP_PLAN, startup_plan
from tui.engine.lever_values import human
from tui.engine.settings import Profile
from tui.errors import VtuneError


def max_model_len(profile: Profile) -> int | None:
    """The context length that the profile asks for, in tokens; None where it leaves it to the model."""
    value = profile.raw.get("max-model-len", profile.engine.args.get("max-model-len"))
    try:
        return human(value)
    except ValueError:
        return None


def check(profile: Profile) -> Profile:
    """`profile`, if it makes sense; VtuneError begins with the key at fault."""
    engine = profile.engine
    if engine.port is not None and engine.port == engine.front_port:
        raise VtuneError(f"engine.front-port: {engine.port} is the engine's own port", "leave engine.port: auto")
    if engine.attach and (profile.levers or engine.args):
        key = "levers" if profile.levers else "engine.args"
        raise VtuneError(
            f"{key}: the engine at {engine.attach[0]} runs already, and vtune does not own it",
            f"drop {key}, or engine.attach to start an engine",
        )
    for flag in engine.args:
        owner = levers.owner(flag)
        if owner and owner.name in profile.levers:
            raise VtuneError(
                f"engine.args.{flag}: the lever {owner.name} sets this too",
                f"keep levers: {owner.name} and drop the flag",
            )
    _combinations(profile)
    _plan(profile)
    return profile


def _plan(profile: Profile) -> None:
    """The lever kv-pool in percent says the same; these are the other doors to its flag."""
    for section, flags in (("engine.args", profile.engine.args), ("raw", profile.raw)):
        for flag in flags:
            if flag in SHARES and startup_plan(profile.engine.env):
                raise VtuneError(
                    f"{section}.{flag}: with {STARTUP_PLAN} vLLM would take the pool of an earlier share",
                    f"use levers: kv-pool: 8GiB (a size), or drop {STARTUP_PLAN}",
                )


def _combinations(profile: Profile) -> None:
    """What holds on every platform; `command.build` checks the rest, knowing the engine."""
    combinations.refuse(
        Surroundings(
            max_model_len=max_model_len(profile),
            values=profile.levers,
            env=profile.engine.env,
            given=frozenset(profile.levers),
            raw=profile.raw,
        )
    )
