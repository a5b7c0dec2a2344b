"""``--set``: the words of the command line on top of a profile."""

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tui.engine import levers, profile_fields
from tui.engine.profile_check import check
from tui.engine.settings import Profile
from tui.engine.targets import target
from tui.errors import VtuneError

_KEYS = (
    *(f"engine.{key}" for key in (*profile_fields.ENGINE, *profile_fields.ENGINE_MAPS)),
    *(f"traffic.{key}" for key in profile_fields.TRAFFIC),
    "targets",
)


def with_settings(profile: Profile, settings: Iterable[str]) -> Profile:
    """`profile` with each ``LEVER=VALUE``, ``dotted.key=VALUE`` or ``raw.FLAG=VALUE`` applied, in order."""
    for setting in settings:
        profile = _with(profile, setting)
    return check(profile)


def _with(profile: Profile, setting: str) -> Profile:
    key, equals, words = setting.partition("=")
    key = key.strip()
    if not equals or not key:
        raise VtuneError(f"--set {setting!r}: no value", "write LEVER=VALUE, such as prefix-caching=off")
    try:
        changed = _changed(profile, key, words.strip())
    except VtuneError as error:
        raise VtuneError(f"--set {error.what}", error.mend, error.code) from error
    return replace(changed, settings=(*profile.settings, setting))


def _changed(profile: Profile, key: str, words: str) -> Profile:
    head, _, rest = key.partition(".")
    if head == "raw" and rest:
        return replace(profile, raw=_frozen({**profile.raw, _raw_flag(key): words}))
    if head == "levers" and rest:
        return _with_lever(profile, rest, words)
    if head == "engine" and rest:
        return replace(profile, engine=_with_engine(profile, key, rest, words))
    if head == "traffic" and rest in profile_fields.TRAFFIC:
        return replace(profile, traffic=replace(profile.traffic, **{rest: profile_fields.TRAFFIC[rest](key, words)}))
    if head == "targets" and rest:
        found = target(rest, words)
        others = tuple(one for one in profile.targets if one.name != rest)
        return replace(profile, targets=(*others, found) if found else others)
    if key == "name":
        return replace(profile, name=profile_fields.text(key, words))
    if rest:
        raise VtuneError(f"{key}: no such key{levers.nearest(key, _KEYS)}", f"keys are {', '.join(_KEYS)}, or a lever")
    return _with_lever(profile, key, words)


def _with_lever(profile: Profile, name: str, words: str) -> Profile:
    """The lever takes over: what stood in its place in engine.args or engine.env is dropped."""
    values = levers.put(profile.levers, name, words)
    lever = levers.get(levers.FACETS.get(name, name))
    engine = replace(
        profile.engine,
        args=_frozen({flag: value for flag, value in profile.engine.args.items() if levers.owner(flag) is not lever}),
        env=_frozen({key: value for key, value in profile.engine.env.items() if key not in lever.owns_env}),
    )
    return replace(profile, levers=_frozen(values), engine=engine)


def _with_engine(profile: Profile, key: str, rest: str, words: str) -> Any:
    field, _, entry = rest.partition(".")
    if entry and field in profile_fields.ENGINE_MAPS:
        name = profile_fields.plain_flag(entry) if field == "args" else entry
        value = profile_fields.literal(words) if field == "args" else words
        value = profile_fields.ENGINE_MAPS[field](key, value)
        return replace(profile.engine, **{field: _frozen({**getattr(profile.engine, field), name: value})})
    if not entry and field in profile_fields.ENGINE:
        return replace(profile.engine, **{field.replace("-", "_"): profile_fields.ENGINE[field](key, words)})
    raise VtuneError(f"{key}: no such key{levers.nearest(key, _KEYS)}", f"keys are {', '.join(_KEYS)}")


def _raw_flag(key: str) -> str:
    flag = profile_fields.plain_flag(key.partition(".")[2])
    if flag in ("api-key", "hf-token"):
        raise VtuneError(f"{key}: secrets do not belong on a command line", "export VLLM_API_KEY or HF_TOKEN instead")
    if flag in ("port", "host", "uds"):
        raise VtuneError(f"{key}: vtune must know where the engine answers", "use engine.port=NUMBER")
    return flag


def _frozen(values: dict[str, Any]) -> Any:
    return MappingProxyType(values)
