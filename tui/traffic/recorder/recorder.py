"""The recorder: a proxy in front of an upstream, and a scribe that writes what passes."""

import asyncio
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tui.errors import VtuneError
from tui.traffic.http.target import parse_target
from tui.traffic.recorder.channel import WRITER_GONE, Channel
from tui.traffic.recorder.proxy import Proxy
from tui.traffic.recorder.spec import RecordSpec
from tui.traffic.recorder.upstream import Upstreams

_HERE = {"127.0.0.1", "localhost", "0.0.0.0", "::1", "::"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of the traffic: passed = kept + the sum of `skipped`."""

    path: str
    passed: int
    kept: int
    skipped: dict[str, int]  # reason -> requests
    notes: list[str] = field(default_factory=list)
    fault: str | None = None

    def to_json(self) -> dict[str, Any]:
        skipped = [{"reason": reason, "count": n} for reason, n in self.skipped.items()]
        return {
            "schema": "vtune.record/1", "recording": self.path, "passed": self.passed, "kept": self.kept,
            "skipped": skipped, "notes": self.notes, "fault": self.fault,
        }  # fmt: skip

    def lines(self) -> list[str]:
        """For a person."""
        where = f"in {self.path}" if self.kept else "nothing was recorded"
        rows = [f"{self.passed} requests passed, {self.kept} kept ({where})"]
        rows += [f"{n} not kept: {reason}" for reason, n in self.skipped.items()]
        return rows + self.notes


class Recorder:
    """Make it with `start`; it serves from then on, on the running loop, until `stop`."""

    def __init__(self, spec: RecordSpec, proxy: Proxy, channel: Channel) -> None:
        self.spec = spec
        self._proxy, self._channel = proxy, channel

    @classmethod
    async def start(cls, spec: RecordSpec, say: Callable[[str], None] = lambda line: None) -> "Recorder":
        """`say` gets warnings while it runs. Raises VtuneError when it can't listen or write."""
        target = parse_target(spec.upstream)
        if spec.port == target.port and (target.host == spec.host or {target.host, spec.host} <= _HERE):
            raise VtuneError("--upstream and --listen are the same address", "listen on another port")
        channel = await Channel.start(spec, say)
        upstreams = Upstreams(target, spec.connect_s)
        try:
            proxy = Proxy(spec.host, spec.port, upstreams, spec.timeout_s, channel.give)
        except BaseException:
            await channel.finish()
            raise
        if healed := channel.ready["healed"]:
            say(f"{spec.out_path}: {healed}")
        if not ipaddress.ip_address(proxy.host.partition("%")[0]).is_loopback:
            say(f"{proxy.url} is open to other machines: whoever reaches it uses the upstream and is recorded")
        return cls(spec, proxy, channel)

    @property
    def url(self) -> str:
        """Where clients send their requests."""
        return self._proxy.url

    @property
    def passed(self) -> int:
        return self._proxy.passed

    @property
    def kept(self) -> int:
        """Requests written so far."""
        return self._channel.kept

    @property
    def in_flight(self) -> int:
        return self._proxy.in_flight

    @property
    def scribe_pid(self) -> int:
        return self._channel.pid

    async def stop(self, grace_s: float = 0.0) -> Recorded:
        """Accept nobody, give what is in flight `grace_s`, then end it; write the rest and count tokens.

        A stop that is cancelled hurries: call it again to have the result.
        """
        if not self._proxy.stopping:
            self._proxy.stop_listening()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        while self._proxy.in_flight and loop.time() < deadline:
            await asyncio.sleep(0.02)
        self._proxy.close()
        return self._summed(await self._channel.finish())

    def hurry(self) -> None:
        """End what is in flight and count no more tokens; `stop` returns soon."""
        self._proxy.close()
        self._channel.hurry()

    def _summed(self, end: dict[str, Any]) -> Recorded:
        counts = end["counts"]
        skipped = {**self._channel.skipped}
        for reason, number in end["skipped"].items():
            skipped[reason] = skipped.get(reason, 0) + number
        kept = counts.get("kept", 0)
        lost = self._proxy.passed - kept - sum(skipped.values())
        if lost > 0:
            skipped[WRITER_GONE] = skipped.get(WRITER_GONE, 0) + lost
        notes = [*_told(counts), *end["notes"]]
        if self._proxy.unreadable:
            notes.append(f"{self._proxy.unreadable} connections sent what is no HTTP/1.1 request")
        return Recorded(self.spec.out_path, self._proxy.passed, kept, skipped, notes, end["fault"])


def _told(counts: dict[str, int]) -> list[str]:
    told = (
        ("linked", "{} carry on a conversation"),
        ("failed", "{} were answered by an error or not at all"),
        ("cut", "{} were cut short"),
        ("counted", "{} had their prompt tokens counted by the upstream's /tokenize"),
        ("masked", "{} had keys or addresses masked, at equal length: their tokens are not those that were sent"),
        ("with keys", "warning: {} hold text that looks like a key; --mask-secrets masks it"),
        ("credentials", "warning: {} held their own request's key in the body; it was masked"),
    )
    return [words.format(counts[name]) for name, words in told if counts.get(name)]
