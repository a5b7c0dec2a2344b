"""Weights that stay on the GPU from engine to engine: vLLM's weight daemon, ``vllm preload`` (CUDA, vLLM 0.31).

It loads them once; engines map them instead of reading them again, which saves that phase of every start. Not run
on a GPU so far: names and texts are those of vLLM 0.32's sources (P/entrypoints/cli/preload.py,
P/model_executor/model_loader/weight_cache).
"""

import asyncio
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from tui.engine import argv
from tui.engine.diagnosis import diagnose, read_log
from tui.engine.install import Install
from tui.engine.keeper import Child, Keeper
from tui.engine.launch import Launch
from tui.engine.settings import Profile
from tui.engine.startup import LogFollower, clean
from tui.engine.warm import environment
from tui.errors import Exit, VtuneError

READY = "===== Weight cache daemon READY"
_SINCE = (0, 31)
_START_S = 600.0
_LOOK_S = 0.1
_OWN = ("load-format", "model-loader-extra-config", "enable-sleep-mode")  # a mapped model has no weights to put asleep

# What decides which weights are loaded and how (WeightCacheKey, and what finding them needs).
_LOADING = (
    *("model", "revision", "code-revision", "tokenizer", "tokenizer-revision", "trust-remote-code", "config-format"),
    *("hf-config-path", "hf-overrides", "download-dir", "dtype", "quantization", "model-impl", "max-model-len"),
    *("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "enable-expert-parallel"),
)


def check(profile: Profile, install: Install) -> None:
    """Raises VtuneError where the profile asks for what this vLLM can't do."""
    if not profile.engine.preload:
        return
    if install.platform != "cuda":
        raise VtuneError(
            f"engine.preload: this vLLM runs on {install.platform}, its weight daemon on CUDA only",
            "use engine.preload: off",
        )
    if install.older_than(_SINCE):
        raise VtuneError(
            f"engine.preload: vLLM {install.version} has no `vllm preload`, it came with 0.31",
            "use engine.preload: off, or a newer vLLM",
        )
    for flag in (*profile.engine.args, *profile.raw):
        if flag in _OWN:
            raise VtuneError(
                f"engine.preload: {flag} is set as well, and preloading sets how weights are loaded",
                f"use engine.preload: off, or drop {flag}",
            )


def command(launch: Launch, sockets: Path) -> tuple[str, ...]:
    """The daemon for the weights that `launch` loads, its sockets in `sockets`."""
    words = ["--model", argv.model(launch.argv)]
    for flag, given in argv.flags(launch.argv).items():
        if flag in _LOADING and flag != "model":
            words += [f"--{flag}", *given]
    module = "vllm.entrypoints.cli.main"
    return launch.python, "-m", module, "preload", *words, "--weight-cache-socket-dir", str(sockets)


class Preload:
    """One daemon that holds the weights of launches that load alike."""

    def __init__(self, child: Child, sockets: Path, key: tuple[str, ...]) -> None:
        self._child = child
        self._sockets = sockets
        self._key = key

    @classmethod
    async def open(cls, keeper: Keeper, launch: Launch, log: Path) -> "Preload":
        """Start it and wait until the weights are on the GPU. Raises VtuneError with the cause."""
        sockets = Path(tempfile.mkdtemp(prefix="vtune-"))  # 0700, as the daemon wants it; short, for a socket's name
        name = f"preload-{os.urandom(6).hex()}"
        env = {**environment(launch), "VTUNE_LAUNCH": name}
        daemon = None
        try:
            child = await keeper.launch(name, list(command(launch, sockets)), env, log)
            daemon = cls(child, sockets, key(launch))
            async with asyncio.timeout(_START_S):
                await daemon._come_up(launch, log)
            return daemon
        except TimeoutError:
            await daemon.close()  # type: ignore[union-attr]
            what, mend = f"the weights were not loaded within {_START_S:.0f} s", f"read the log: {log}"
            raise VtuneError(what, mend, Exit.ENGINE) from None
        except BaseException:
            if daemon is not None:
                await daemon.close()
            shutil.rmtree(sockets, ignore_errors=True)
            raise

    async def _come_up(self, launch: Launch, log: Path) -> None:
        lines = LogFollower(log)
        while True:
            ended = self._child.exited.done()
            if any(clean(line).text.startswith(READY) for line in lines.read(last=ended)):
                return
            if ended:
                await asyncio.shield(self._child.gone)
                found = diagnose(read_log(log), self._child.exited.result(), launch, log)
                raise VtuneError(found.what.replace("the engine", "vllm preload"), found.mend, Exit.ENGINE)
            await asyncio.wait([self._child.exited], timeout=_LOOK_S)

    @property
    def alive(self) -> bool:
        return not self._child.exited.done()

    @property
    def ending(self) -> str:
        return self._child.exited.result().words

    def serves(self, launch: Launch) -> bool:
        """Whether these are the weights that `launch` loads, in the parts that it needs."""
        return self._key == key(launch)

    def used_by(self, launch: Launch) -> Launch:
        """`launch`, mapping these weights; vLLM reads the disk where it can't, and says so."""
        extra = json.dumps({"socket_dir": str(self._sockets)})
        flags = ("--load-format", "ipc_cache", "--model-loader-extra-config", extra)
        return replace(launch, argv=(*launch.argv, *flags))

    async def close(self) -> None:
        """Free the weights; engines that map them must have ended before."""
        await self._child.stop(5.0)
        shutil.rmtree(self._sockets, ignore_errors=True)


def key(launch: Launch) -> tuple[str, ...]:
    """Equal for launches that load the same weights in the same parts."""
    return command(launch, Path())
