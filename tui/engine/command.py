"""From a profile and an install to the command line and environment of one launch."""

import json
import os
import shlex
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tui.engine import availability, combinations, device, levers, model, precision, preload, vocabulary
from tui.engine.argv import plain as plain_flags
from tui.engine.flags import server_command
from tui.engine.install import Install
from tui.engine.launch import Launch
from tui.engine.lever import Surroundings
from tui.engine.lever_values import OFF, ON, Speculation
from tui.engine.profile_check import max_model_len
from tui.engine.settings import Profile
from tui.errors import VtuneError

HOST = "127.0.0.1"  # vLLM's development endpoints are open to whoever can connect

_MEASURING = (  # flags that vtune adds to measure, and the vLLM version that brought them
    ("enable-prompt-tokens-details", (0, 6, 4)),
    ("enable-per-request-metrics", (0, 25)),
)
# Once a KV block is taken for something else, vLLM tells how long it was there and unused. By the install's own
# collector (0.32, one core here) a block costs 15 us where each is looked at and 1 us at vLLM's own sample of 1 %:
# nothing at the few large blocks of a CPU, 5 % of a core at the thousands a second of a GPU, so there the 1 % stays.
_RESIDENCY = ("kv-cache-metrics", (0, 12))
_EACH_BLOCK = ("--kv-cache-metrics-sample", "1.0")
_QUIET = ("disable-access-log-for-endpoints", (0, 32))  # vtune asks twice a second: that would drown the log
_MEASURING_SPECULATION = ("per-request-spec-decode-metrics", (0, 30))


def build(profile: Profile, install: Install, port: int) -> Launch:
    """The launch of `profile` on `install`, to answer on `port`.

    Every lever is written out in the direction asked. Raises VtuneError for what vLLM would refuse,
    so that nothing is started in vain.
    """
    if profile.engine.attach:
        raise VtuneError("this profile attaches to an engine that runs: it starts none", "use another profile")
    preload.check(profile, install)
    around = surroundings(profile, install)
    found = combinations.refuse(around)
    launch_id = uuid.uuid4().hex
    name = model.served_name(profile.engine.model)
    return Launch(
        argv=(*_server(profile, install, port, name), *_flags(profile, install, around), *_raw(profile, install)),
        env={**environment(profile, install, around), "VTUNE_LAUNCH": launch_id},
        python=install.python,
        host=HOST,
        port=port,
        url=f"http://{HOST}:{port}",
        model=name,
        launch_id=launch_id,
        asked=asked(profile, around),
        install=availability.as_json(around),
        expected={**combinations.expected(found), **_told_by_raw(profile, around)},
        platform=install.platform,
        preload=profile.engine.preload,
        pin_pool=profile.engine.pin_kv_pool,
        warnings=(
            *vocabulary.warnings(profile.engine.model, Speculation.read(around.values["speculative"]).model),
            *(finding.sentence() for finding in found if finding.kind in ("overridden", "moved")),
        ),
    )


def surroundings(profile: Profile, install: Install) -> Surroundings:
    """What the levers of `profile` see on `install`, with every value in force."""
    dtype = precision.chosen(profile, install)
    around = Surroundings(
        platform=install.platform,
        device=install.device,
        device_memory=install.device_memory,
        avx512=False if device.slow_at_16_bits() else None,
        max_model_len=max_model_len(profile) or model.positions(profile.engine.model),
        version=install.version,
        env=MappingProxyType({**os.environ, **profile.engine.env}),
        place_model=model.given,
        raw=MappingProxyType({**({precision.DTYPE: dtype} if dtype else {}),
                              **{flag: str(value) for flag, value in profile.engine.args.items()}, **profile.raw}),
        model=profile.engine.model,
        facts_of=model.facts,
        gpus=install.gpus if install.platform != "cpu" else None,
        packages=install.dists,
        flags=install.flags,
    )  # fmt: skip
    settled = levers.resolve(profile.levers, around)
    apart = {name: words for name, words in levers.given_in(profile.engine.args).items() if name not in settled.values}
    return replace(settled, values={**settled.values, **apart}, apart=frozenset(apart))


def shell(launch: Launch) -> str:
    """The command as a line for a POSIX shell."""
    return line(launch.argv, launch.env)


def line(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """A command and its environment as a line for a POSIX shell."""
    words = (f"{key}={shlex.quote(value)}" for key, value in env.items() if key != "VTUNE_LAUNCH")
    return " ".join((*words, shlex.join(argv)))


def _server(profile: Profile, install: Install, port: int, name: str) -> list[str]:
    given = model.given(profile.engine.model)
    start = server_command(install.python, install.dist)
    which = [given] if start[-1] == "serve" else ["--model", given]
    return [*start, *which, "--served-model-name", name, "--host", HOST, "--port", str(port)]


def _flags(profile: Profile, install: Install, around: Surroundings) -> list[str]:
    dtype = precision.chosen(profile, install)
    written = [f"--{precision.DTYPE}", dtype] if dtype else []
    for flag, value in profile.engine.args.items():
        _known(install, flag, f"engine.args.{flag}")
        written += _written(flag, value)
    for name, words in around.values.items():
        if name not in around.apart:
            written += availability.written(levers.get(name), words, around)
    for flag, since in _MEASURING:
        if install.has_flag(flag, since):
            written.append(f"--{flag}")
    written += _residency(install, around)
    if install.has_flag(*_QUIET):
        written += [f"--{_QUIET[0]}", "/metrics,/health"]
    if _speculates(around) and install.has_flag(*_MEASURING_SPECULATION):
        written += [f"--{_MEASURING_SPECULATION[0]}", "summary"]
    return written


def _residency(install: Install, around: Surroundings) -> list[str]:
    if not install.has_flag(*_RESIDENCY):
        return []
    return [f"--{_RESIDENCY[0]}", *(_EACH_BLOCK if around.cpu else ())]


def _speculates(around: Surroundings) -> bool:
    return Speculation.read(around.values["speculative"]).method is not None


def _raw(profile: Profile, install: Install) -> list[str]:
    """Last, for vLLM takes the last of two equal flags."""
    written: list[str] = []
    for flag, words in profile.raw.items():
        _known(install, flag, f"raw.{flag}")
        word = words.lower()
        negatable = install.flags is None or install.flags[flag].negatable
        written += _written(flag, word in ON if negatable and word in (*ON, *OFF) else words)
    return written


def _known(install: Install, flag: str, key: str) -> None:
    """Refuses a flag that the installed vLLM does not have, if its parser was asked."""
    if install.flags is None or flag in install.flags or f"no-{flag}" in install.flags:
        return
    raise VtuneError(
        f"{key}: vLLM {install.version or 'here'} has no flag --{flag}{levers.nearest(flag, install.flags)}",
        f"{install.python} -m vllm.entrypoints.openai.api_server --help=all lists its flags",
    )


def _written(flag: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, Mapping):
        return [f"--{flag}", json.dumps(value, sort_keys=True)]
    if isinstance(value, (list, tuple)):
        return [f"--{flag}", *(str(item) for item in value)]
    return [f"--{flag}={value}"] if str(value).startswith("-") else [f"--{flag}", str(value)]


def asked(profile: Profile, around: Surroundings) -> dict[str, str]:
    """The levers in force; one whose flag is overridden says by what."""
    found = dict(around.values)
    for flag, words in profile.raw.items():
        if lever := levers.owner(flag):
            found[lever.name] = f"raw.{flag}={words}"
        found[f"raw.{flag}"] = words
    return found


def _told_by_raw(profile: Profile, around: Surroundings) -> dict[str, str]:
    """What the engine will say of the levers whose flags --set raw.FLAG overrides."""
    told = {}
    for lever in levers.LEVERS:
        over = {flag: words for flag, words in profile.raw.items() if flag.removeprefix("no-") in lever.owns}
        if over and lever.name in around.values:
            wanted = plain_flags([*lever.flags(around.values[lever.name], around), *_raw_words(over)])
            try:
                words = lever.from_flags(wanted)
            except (ValueError, VtuneError):
                continue  # vLLM will say what it thinks of it
            if words is not None:
                told[lever.name] = words
    return told


def _raw_words(raw: Mapping[str, str]) -> list[str]:
    words: list[str] = []
    for flag, value in raw.items():
        words += _written(flag, value.lower() in ON if value.lower() in (*ON, *OFF) else value)
    return words


def environment(profile: Profile, install: Install, around: Surroundings) -> dict[str, str]:
    """Additions to vtune's own environment. The profile's win."""
    env = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_COLOR": "0",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",  # the same block hashes in every launch
        "PYTHONUNBUFFERED": "1",
    }
    if profile.engine.dev_mode:
        env["VLLM_SERVER_DEV_MODE"] = "1"
    draft = Speculation.read(around.values["speculative"]).model
    if all(model.is_local(ref) for ref in (profile.engine.model, draft) if ref):
        env["HF_HUB_OFFLINE"] = "1"
    if around.cpu:
        env |= _openmp(install)
    return {**env, **profile.engine.env}


def _openmp(install: Install) -> dict[str, str]:
    """One OpenMP environment for every CPU engine, however it is started, so that arms can be compared.

    vLLM sets these for a worker that it launches afresh, but a forked one keeps its parent's: without them
    its TPOT was three to five times worse under load. vLLM's n-gram proposer is numba, which sizes the OpenMP pool
    that it shares with torch to every core: with n-grams the model would be computed by more threads than without.
    """
    threads = str(max(1, device.cores() - 1))
    env = {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads, "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    if install.libgomp:
        preloaded = [
            part for part in os.environ.get("LD_PRELOAD", "").replace(":", " ").split() if part != install.libgomp
        ]
        env["LD_PRELOAD"] = ":".join((install.libgomp, *preloaded))
    return env
