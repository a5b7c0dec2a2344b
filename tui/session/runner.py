"""One run: warm up, reset, replay, last scrape, result. Every step is told to the journal."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import httpx

from tui.session import aftermath, bounds, fit, warmup
from tui.session.ceiling import Ceilings, Tokens
from tui.session.host import Emit, Host
from tui.session.result import result_of
from tui.session.state import State
from tui.session.traffic import Traffic
from tui.traffic.replay import Replay, ReplayEnd, ReplaySpec, read_outcomes
from tui.traffic.tick import Finished, Tick

TICK_EVERY_S = 0.25
IDLE_WITHIN_S = 5.0
CANCELLED_WITHIN_S = 1.0


@dataclass
class Runner:
    """Runs one replay at a time on the host's engine."""

    emit: Emit
    state: State
    folder: Path
    client: httpx.AsyncClient
    host: Host
    scrape: Callable[..., Awaitable[bool]]  # scrape now, told whole or as changes; True when nothing moved
    ceilings: Ceilings = field(default_factory=Ceilings)
    _replay: Replay | None = None
    _stopping: Literal["drain", "cancel"] | None = None
    _preparing: "asyncio.Task[dict[str, Any]] | None" = None

    async def run(self, number: int, label: str, traffic: Traffic) -> dict[str, Any]:
        """Returns the vtune.run/1 object; what went wrong with single requests is inside it."""
        recording = traffic.recording
        once = len(recording.requests) if traffic.limit is None else min(traffic.limit, len(recording.requests))
        total = once * traffic.loop
        file = self.folder / f"run-{number}.jsonl"
        self.emit("run", n=number, engine=self.host.number, label=label, total=total, file=file.name,
                  recording={"name": recording.name, "sha256": recording.sha256, "requests": total,
                             "synthetic": recording.synthetic, "path": str(recording.path)},
                  pace_text=traffic.pace, options=traffic.options())  # fmt: skip
        if recording.left_out:
            what = f"{recording.left_out} call{'s' * (recording.left_out > 1)} for embeddings in {recording.name}"
            self.emit("notice", level="info", what=f"{what} left out of the replay", mend=None)
        end: dict[str, Any] | None = None
        engine = self.host.engine
        try:
            facts = await self._prepared(number, traffic, once)
            if facts is None:
                end = asdict(ReplayEnd("cancelled", total, 0, 0, 0))
            else:
                await self.scrape(full=True)
                self.emit("run-state", n=number, state="running", **facts)
                end = await self._send(number, file, traffic, facts)
                if end["kind"] == "died":
                    self.emit("notice", level="error", what=f"the process that replays died: {end['error']}",
                              mend=f"what was answered is kept in {file.name}; replay again")  # fmt: skip
                self.emit("run-state", n=number, state="ending")  # all is answered, the counters are still to be read
                await self._settle()
                await self._study(number, file, traffic, once)
        finally:
            result = self._result(number, file)
            kind = (end or {}).get("kind", "broken")
            if engine is not None and engine.state == "died" and kind == "done":
                kind = "cancelled"  # what vLLM's server still answered were refusals: no run to compare others to
            self.emit("run-end", n=number, state=kind, end=end, result=result)
            bounds.release(self.state.runs.values())
            self._replay = self._preparing = self._stopping = None
        return result

    async def stop(self, how: Literal["drain", "cancel"]) -> None:
        """Send nothing more; `cancel` also gives up the requests under way. One that has sent nothing yet just ends."""
        self._stopping = how
        if self._preparing is not None:
            self._preparing.cancel()
        if self._replay is not None:
            await (self._replay.drain() if how == "drain" else self._replay.cancel())

    async def hold(self, paused: bool) -> None:
        """Send nothing more for now, or go on; what runs is not touched. The ticks tell it."""
        if self._replay is not None:
            await (self._replay.pause() if paused else self._replay.resume())

    async def _prepared(self, number: int, traffic: Traffic, total: int) -> dict[str, Any] | None:
        """What the preparation found; None when the run was ended meanwhile: warm-up prompts take seconds each."""
        if self._stopping is not None:
            return None
        self._preparing = asyncio.create_task(self._prepare(number, traffic, total))
        try:
            await asyncio.wait([self._preparing])
        finally:
            self._preparing.cancel()
        return None if self._preparing.cancelled() else self._preparing.result()

    async def _prepare(self, number: int, traffic: Traffic, total: int) -> dict[str, Any]:
        launch, applied = self.host.launch, self.host.applied
        assert launch is not None and applied is not None
        facts: dict[str, Any] = {}
        if traffic.cache == "keep":
            facts["cache_reset"] = "kept"
        else:
            tokens = warmup.warm_up_length(_budget(applied.levers.get("chunked-prefill")), applied.max_model_len)
            try:
                warm = await warmup.warm_up(self.client, launch.url, launch.model, tokens, seed=number)
                facts |= {"start_state": warm.words, "warm_up_s": list(warm.seconds), "warm_up_tokens": tokens}
            except httpx.HTTPError as error:
                facts["start_state"] = f"warm-up failed: {error or type(error).__name__}"
            facts |= await self._reset(number, launch.url)
        asked = (self.client, launch, traffic.recording, total)
        facts["ceiling"] = await self.ceilings.of(*asked, applied.block_size, traffic.loop)
        counted = None if traffic.live_turns else await self.ceilings.tokens(*asked)
        if counted is not None:
            facts["unsent"] = self._unfit(traffic, counted, applied.max_model_len)
        return {k: v for k, v in facts.items() if v is not None}

    def _unfit(self, traffic: Traffic, tokens: Tokens, max_model_len: int | None) -> dict[str, str] | None:
        """Requests that are known not to fit, told before the run; None where all do."""
        requests = traffic.recording.requests[: len(tokens)]
        beyond, tight = fit.too_long(requests, [len(ids) for ids in tokens], max_model_len, traffic.fix_lengths)
        if (told := fit.words(beyond, tight, len(requests))) is not None:
            self.emit("notice", level="warning", what=told[0], mend=told[1])
        return beyond or None

    async def _reset(self, number: int, url: str) -> dict[str, Any]:
        for _ in range(3):
            if await warmup.reset_prefix_cache(self.client, url):
                return {"cache_reset": "done"}
            await asyncio.sleep(0.2)
        # A salt of its own gives the run an empty name space in the prefix cache.
        return {"cache_reset": "salted", "salt": f"vtune-{self.folder.name}-{number}"}

    async def _send(self, number: int, file: Path, traffic: Traffic, facts: dict[str, Any]) -> dict[str, Any]:
        launch = self.host.launch
        assert launch is not None
        spec = ReplaySpec(
            url=launch.url, model=launch.model, recording_path=str(traffic.recording.path), out_path=str(file),
            pace=traffic.pace, speed=traffic.speed, limit=traffic.limit, seed=traffic.seed,
            cache_salt=facts.get("salt"), fix_lengths=traffic.fix_lengths, live_turns=traffic.live_turns,
            fail_fast=traffic.fail_fast, keep_text=traffic.keep_text, api_key_env=traffic.api_key_env,
            loop=traffic.loop, retry=traffic.retry, unsent=facts.get("unsent") or {},
        )  # fmt: skip
        self._replay = replay = await Replay.start(spec)
        if self._stopping is not None:
            await self.stop(self._stopping)
        kept: list[Finished] = []
        loop = asyncio.get_running_loop()
        last = 0.0
        pending: Tick | None = None
        async for tick in replay.ticks():
            kept.extend(tick.finished)
            pending = replace(tick, finished=tuple(kept))
            if loop.time() - last >= TICK_EVERY_S:
                self.emit("tick", n=number, tick=pending.to_json())
                last, pending = loop.time(), None
                kept.clear()
        if pending is not None:
            self.emit("tick", n=number, tick=pending.to_json())
        return asdict(await replay.wait())

    async def _settle(self) -> None:
        """Scrape until two readings are equal and idle, so that the last request's counters are in."""
        same = 0
        with contextlib.suppress(TimeoutError):
            # One that was cancelled may be so because its engine hangs or is dead: then nobody answers.
            async with asyncio.timeout(CANCELLED_WITHIN_S if self._stopping == "cancel" else IDLE_WITHIN_S):
                while same < 2 and self.host.launch is not None:
                    same = same + 1 if await self.scrape() else 0
                    await asyncio.sleep(0.1)

    async def _study(self, number: int, file: Path, traffic: Traffic, total: int) -> None:
        """Tell what became of the prompts' blocks, of a run that went through once."""
        launch, applied = self.host.launch, self.host.applied
        if traffic.loop > 1 or self._stopping is not None or launch is None or applied is None or not file.is_file():
            return
        engine = aftermath.Served(self.client, launch, applied)
        cold = self.state.runs[number].cache_reset == "done"
        told = await aftermath.of_run(engine, self.ceilings, traffic, total, read_outcomes(file)[1], cold)
        if told is not None:
            self.emit("reuse", n=number, d=told)

    def _result(self, number: int, file: Path) -> dict[str, Any]:
        if not file.is_file():
            return result_of(self.state, number, [])
        _, outcomes, end = read_outcomes(file)
        return result_of(self.state, number, outcomes, end)


def _budget(chunked_prefill: str | None) -> int | None:
    """Token budget in the words of the lever; None where it is off, vLLM's own, or not known."""
    budget = (chunked_prefill or "").partition("/")[0]
    return int(budget) if budget.isdigit() else None
