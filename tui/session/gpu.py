"""What an engine on a GPU needs around its start: weights preloaded, an equal KV pool, memory that is back."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tui.engine import kv_pool, preload
from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.preload import Preload
from tui.engine.process import EngineFailed
from tui.engine.startup import LogFollower
from tui.errors import VtuneError
from tui.session.arm import Arm
from tui.session.gpu_memory import GpuMemory


class Gpu:
    """Does nothing for launches on a CPU. `notice` tells the user: level, what, mend."""

    def __init__(self, folder: Path, notice: Callable[[str, str, str | None], None]) -> None:
        self._folder = folder
        self._notice = notice
        self._pools: dict[tuple[object, ...], int] = {}  # bytes per GPU, by kind of launch
        self._preload: Preload | None = None
        self._preloads = 0  # tried
        self._failed: set[tuple[str, ...]] = set()  # weights that no daemon could hold
        self.memory = GpuMemory()

    async def prepare(self, launch: Launch, keeper: Keeper) -> Launch:
        """`launch` as it is to be started: with the pool of its kind, and with the weights that are there."""
        kind = kv_pool.kind(launch)
        if kind is not None and (size := self._pools.get(kind)):
            launch = kv_pool.pinned(launch, size)
        return await self._with_weights(launch, keeper) if launch.preload else launch

    async def room(self, launch: Launch) -> str | None:
        """Wait until what an ended engine held is free. See `GpuMemory.back`."""
        if not launch.on_gpu:
            return None
        self.memory.launched(launch.launch_id)
        return await self.memory.back()

    async def learn(self, arm: Arm, log: Path) -> None:
        """Keep the pool that an engine came to, for those of its kind; the first one decides."""
        kind = kv_pool.kind(arm.launch)
        if kind is None or kind in self._pools:
            return
        size = await asyncio.to_thread(lambda: kv_pool.told(LogFollower(log).read(last=True)))
        if size is not None:
            self._pools[kind] = size
            what = f"the KV pool of engine {arm.number} ({size / 2**30:.2f} GiB per GPU) is pinned for the next ones"
            self._notice("info", f"{what}; engine.pin-kv-pool: off lets vLLM choose", None)

    def explain(self, launch: Launch, error: VtuneError) -> None:
        """A start that ran out of memory may do so because its pool was pinned: its mend says so."""
        size = launch.asked.get(kv_pool.PINNED)
        if size is not None and isinstance(error, EngineFailed) and error.diagnosis.cause == "gpu-memory":
            pool = f"{int(size) / 2**30:.2f} GiB"
            error.mend = f"{error.mend}; its KV pool was pinned at {pool}, engine.pin-kv-pool: off lets vLLM choose"

    def ending(self, arm: Arm) -> None:
        """The engine is about to be ended."""
        if arm.launch.on_gpu:
            self.memory.ending(arm.engine.pids())

    async def close(self) -> None:
        """Free the preloaded weights, after the last engine."""
        if self._preload is not None:
            held, self._preload = self._preload, None
            await held.close()

    # -- preloaded weights

    async def _with_weights(self, launch: Launch, keeper: Keeper) -> Launch:
        """`launch`, mapping the weights from the GPU; as it was where no daemon holds them, which is told once."""
        if self._preload is not None and not self._preload.alive:
            words = f"the preloaded weights are gone (vllm preload: {self._preload.ending})"
            await self._drop("warning", f"{words}; they are read from disk")
            self._failed.add(preload.key(launch))
        if self._preload is not None and not self._preload.serves(launch):
            await self._drop("info", "this arm loads other weights, or in other parts: they are preloaded anew")
        if self._preload is None and preload.key(launch) not in self._failed:
            self._preload = await self._hold(launch, keeper)
        return self._preload.used_by(launch) if self._preload is not None else launch

    async def _hold(self, launch: Launch, keeper: Keeper) -> Preload | None:
        self._preloads += 1
        log = self._folder / f"preload-{self._preloads}.log"
        self._notice("info", f"vllm preload reads the weights once for all engines; its log is {log.name}", None)
        try:
            return await Preload.open(keeper, launch, log)
        except VtuneError as error:
            self._failed.add(preload.key(launch))
            what = f"the weights can't be preloaded, they are read from disk: {error.what}"
            self._notice("warning", what, error.mend)
            return None
        finally:
            self.memory.forget()

    async def _drop(self, level: str, why: str) -> None:
        self._notice(level, why, None)
        await self.close()
        self.memory.forget()
