"""A small session as vtune writes it, with fixed times: three engines, three runs, all figures made up.

Run 1 has prefix caching off, run 2 has it on, run 3 speculates and has failures; its engine runs
another KV dtype than was asked.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui.metrics.scrape import NOTHING, EngineSample, Scrape
from tui.session import state as states
from tui.session.journal import NAME, SCHEMA
from tui.session.result import result_of
from tui.traffic.outcome import SCHEMA as REQUESTS
from tui.traffic.outcome import Outcome
from tui.traffic.replay.runfile import read_outcomes

T0 = 1_790_000_000.0
N = 24
BLOCK = 128
SHA = "5e1f" * 16

HEADER = {
    "schema": SCHEMA, "session": "20260921-120000", "created_at": "2026-09-21T12:00:00+0000", "vtune": "0.1.0",
    "host": {"system": "Linux 6.1", "machine": "x86_64", "cpu": "Example CPU @ 2.0GHz", "cores": 2,
             "memory_bytes": 25_000_000_000, "python": "3.11.7"},
}  # fmt: skip
TARGETS = [
    {"name": "ttft-p95", "metric": "ttft_s.all.p95", "limit": 2.0, "at_least": False},
    {"name": "tpot-p95", "metric": "tpot_s.p95", "limit": 0.1, "at_least": False},
    {"name": "error-rate", "metric": "requests.error_rate", "limit": 0.01, "at_least": False},
    {"name": "hit-rate", "metric": "prefix_cache.hit_rate", "limit": 0.5, "at_least": True},
]
PROFILE_TEXT = "name: demo\nengine:\n  model: bundled:smollm2-135m\n  env: {HF_TOKEN: hf_secret}\n"
LEVERS = {"prefix-caching": "off", "chunked-prefill": "2048", "speculative": "off", "kv-dtype": "auto"}
END = {
    "kind": "done", "total": N, "duration_s": 99.0,
    "fidelity": {"clock": "kernel", "coalesced_events": 0, "replayer_cpu_share": 0.03, "ticks_dropped": 0},
}  # fmt: skip


class Folder:
    """Writes a session folder event by event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._t = T0
        self._scrape: dict[int, Scrape] = {}
        path.mkdir(exist_ok=True)
        (path / NAME).write_text(json.dumps(HEADER) + "\n")
        self.event("profile", name="demo", path="/home/ada/profiles/demo.yaml", text=PROFILE_TEXT,
                   model="bundled:smollm2-135m", levers=LEVERS,
                   settings=["engine.port=8123"], attach=None, targets=TARGETS)  # fmt: skip
        self.event("recording", name="rag-handbook", sha256=SHA, requests=N, path="/home/ada/recordings/rag.jsonl",
                   pace="closed:1", speed=1.0)  # fmt: skip

    def event(self, kind: str, after: float = 0.5, **values: Any) -> float:
        self._t = round(self._t + after, 3)
        with (self.path / NAME).open("a") as file:
            file.write(json.dumps({"e": kind, "t": self._t, **values}) + "\n")
        return self._t

    def engine(self, number: int, asked: dict[str, str], applied: dict[str, str | None], mismatches: list[str]) -> None:
        argv = ["/opt/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/smollm2-135m",
                "--served-model-name", "smollm2-135m", "--api-key", "sk-secret",
                f"--{'' if asked['prefix-caching'] == 'on' else 'no-'}enable-prefix-caching"]  # fmt: skip
        env = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_TOKEN": "hf_secret"}
        self.event("launch", n=number, state="starting", argv=argv, env=env, python="/opt/venv/bin/python",
                   url="http://127.0.0.1:8123", model="smollm2-135m", asked=asked, log=f"engine-{number}.log",
                   start_kind="plain")  # fmt: skip
        self.event("phase", n=number, name="import")
        self.event("engine", 30.0, n=number, state="warming", start_s=30.125, start_kind="plain", pid=4000 + number)
        self.event("applied", n=number, levers=applied, mismatches=mismatches, vllm="0.32.0", model="smollm2-135m",
                   device="CPU", block_size=BLOCK, kv_cache_tokens=46_592, max_model_len=8192, warnings=[])  # fmt: skip
        self.event("engine", n=number, state="ready")

    def scrape(self, number: int, sample: EngineSample, after: float = 0.25) -> None:
        t = round(self._t + after, 3)
        before = self._scrape.get(number)
        scrape = Scrape(t, (sample,), started_at=T0 + number)
        self._scrape[number] = scrape
        full = {"full": True} if before is None else {}
        self.event("scrape", after, n=number, **full, d=scrape.changes(before or NOTHING))

    def run(self, number: int, engine: int, label: str, ceiling: float | None = 0.62) -> None:
        self.event("run", n=number, engine=engine, label=label, total=N, file=f"run-{number}.jsonl",
                   pace_text="closed:1",
                   recording={"name": "rag-handbook", "sha256": SHA, "requests": N, "synthetic": False,
                              "path": "/home/ada/recordings/rag.jsonl"},
                   options={"speed": 1.0, "limit": None, "seed": 0, "cache": "reset", "live_turns": False,
                            "fix_lengths": False, "keep_text": True})  # fmt: skip
        self.scrape(engine, counters(0, 2048, 0))
        self.event("run-state", 0.0, n=number, state="running", cache_reset="done", ceiling=ceiling,
                   start_state="2 warm-up prompts of 2048 tokens: 1.92 s, 1.90 s", warm_up_s=[1.92, 1.9])  # fmt: skip

    def run_end(self, number: int) -> None:
        """With the result as the session would have it at this moment."""
        _, outcomes, end = read_outcomes(self.path / f"run-{number}.jsonl")
        result = result_of(states.load(self.path), number, outcomes, end)
        self.event("run-end", n=number, state="done", end=end, result=result)

    def requests(self, number: int, outcomes: list[Outcome], end: dict[str, Any] | None = END) -> None:
        lines = [{"schema": REQUESTS}, *(o.to_json() for o in outcomes), *([{"end": end}] if end else [])]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.path / f"run-{number}.jsonl").write_text(text)


def counters(
    requests: int, prompt: int, hits: int, kv: float = 0.0, spec: tuple[int, int, int] | None = None
) -> EngineSample:
    """The engine's counters after `requests` answers of 16 tokens; `spec` is (drafts, proposed, accepted)."""
    drafts, proposed, accepted = spec or (None, None, None)
    return EngineSample(
        "0", running=0, waiting=0, kv_usage=kv, prefix_queries=prompt, prefix_hits=hits, prompt_tokens=prompt,
        generation_tokens=16 * requests, preemptions=0, spec_drafts=drafts, spec_draft_tokens=proposed,
        spec_accepted_tokens=accepted, spec_accepted_per_pos=() if accepted is None else (accepted // 2, accepted // 4),
        ttft_sum_s=float(requests), ttft_count=requests, itl_sum_s=0.5 * requests, itl_count=15 * requests,
    )  # fmt: skip


def outcome(i: int, ttft: float, cached: int, tpot: float = 0.034, begin: float | None = None, **more: Any) -> Outcome:
    """Request i of 1024 + 8i prompt tokens, answered with 16 tokens."""
    due = 4.0 * i if begin is None else begin
    decode = round(15 * tpot, 6)
    values: dict[str, Any] = {
        "id": f"r{i:02}", "group": "extract" if i % 2 == 0 else "write", "status": "ok", "due_s": due,
        "sent_s": due + 0.001, "connect_s": 0.0, "ttft_s": ttft, "e2e_s": round(ttft + decode, 6), "decode_s": decode,
        "prompt_tokens": 1024 + 8 * i, "cached_tokens": cached, "output_tokens": 16, "chunks": 16,
        "itl_s": (tpot,) * 15, "finish_reason": "length", "http_status": 200, "server_queue_s": 0.0001,
        "server_prefill_s": round(ttft - 0.01, 6), "server_decode_s": decode,
    }  # fmt: skip
    return Outcome(**values | more)


def failed(i: int, kind: str, words: str) -> Outcome:
    due, sent = 4.0 * i, 4.0 * i + 0.001
    return Outcome(f"r{i:02}", "write", "failed", due, sent, error_kind=kind, error=words)


def cold(i: int) -> float:
    return round(2.4 + 0.02 * i, 6)


def warm(i: int) -> float:
    return round(0.2 + 0.005 * i, 6)


def without_cache() -> list[Outcome]:
    return [outcome(i, cold(i), 0) for i in range(N)]


def with_cache() -> list[Outcome]:
    """Every third request is cold, one is partly warm, the others reuse 896 tokens."""
    rows = [outcome(i, cold(i), 0) if i % 3 == 0 else outcome(i, warm(i), 7 * BLOCK) for i in range(N)]
    rows[4] = outcome(4, 1.5, 2 * BLOCK)
    return rows


def speculating() -> list[Outcome]:
    def one(i: int) -> Outcome:
        tpot, accepted = (0.014, 10) if i % 2 == 0 else (0.036, 2)
        return outcome(i, cold(i), 0, tpot, drafts=4, draft_tokens=16, accepted_tokens=accepted)

    return [
        *(one(i) for i in range(N - 3)),
        failed(N - 3, "http 400", "This model's maximum context length is 8192 tokens | `ask` <b>less</b>\x1b[31m"),
        failed(N - 2, "timeout", "no content within 600 s"),
        failed(N - 1, "timeout", "no content within 600 s"),
    ]


def whole(path: Path) -> Path:
    """All three runs."""
    folder = Folder(path)
    prompt = sum(1024 + 8 * i for i in range(N))
    hits = sum(o.cached_tokens or 0 for o in with_cache())

    folder.engine(1, LEVERS, LEVERS, [])
    folder.run(1, 1, "baseline")
    folder.event("memory", n=1, bytes=2_100_000_000)
    folder.scrape(1, counters(12, 2048 + prompt // 2, 0, kv=0.25), 48.0)
    folder.scrape(1, counters(N, 2048 + prompt, 0, kv=0.125), 48.0)
    folder.requests(1, without_cache())
    folder.run_end(1)

    on = {**LEVERS, "prefix-caching": "on"}
    folder.engine(2, on, on, [])
    folder.run(2, 2, "prefix-caching on")
    folder.event("memory", n=2, bytes=2_200_000_000)
    folder.scrape(2, counters(12, 2048 + prompt // 2, hits // 2, kv=0.375), 48.0)
    folder.scrape(2, counters(N, 2048 + prompt, hits, kv=0.25), 48.0)
    folder.requests(2, with_cache())
    folder.run_end(2)

    asked = {**LEVERS, "speculative": "ngram:4:2-4", "kv-dtype": "fp8"}
    applied = {**asked, "kv-dtype": "auto", "chunked-prefill": None}
    folder.engine(3, asked, applied, ["kv-dtype: asked fp8, runs auto"])
    folder.run(3, 3, "speculative ngram:4:2-4, kv-dtype fp8")
    ok = speculating()[: N - 3]
    spec = (4 * len(ok), 16 * len(ok), sum(o.accepted_tokens or 0 for o in ok))
    folder.scrape(3, counters(0, 2048 + prompt // 2, 0, kv=0.25, spec=(0, 0, 0)), 40.0)
    folder.scrape(3, counters(len(ok), 2048 + prompt, 0, kv=0.25, spec=spec), 56.0)
    folder.requests(3, speculating())
    folder.run_end(3)
    folder.event("close")
    return path


def comparing(path: Path, replays: int = 4) -> Path:
    """Prefix caching off against on, one mirrored round; each replay a little slower or faster as a whole."""
    folder = Folder(path)
    arms = [{"name": f"prefix-caching={word}", "settings": [f"prefix-caching={word}"]} for word in ("off", "on")]
    order = [arms[i]["name"] for i in (0, 1, 1, 0)]
    folder.event("comparison", vary=["prefix-caching=off,on"], arms=arms, baseline=order[0], rounds=1, order=order,
                 seed=7, start="plain", fix_lengths=False)  # fmt: skip
    prompt = sum(1024 + 8 * i for i in range(N))
    for number, name in enumerate(order[:replays], 1):
        word = name.partition("=")[2]
        levers = {**LEVERS, "prefix-caching": word}
        folder.engine(number, levers, levers, [])
        folder.run(number, number, name)
        folder.event("memory", n=number, bytes=2_100_000_000 + (200_000_000 if word == "on" else 0))
        rows = [
            _paced(o, (1.0, 1.02, 0.99, 1.01)[number - 1]) for o in (with_cache() if word == "on" else without_cache())
        ]
        hits = sum(o.cached_tokens or 0 for o in rows)
        folder.scrape(number, counters(N, 2048 + prompt, hits, kv=0.375 if word == "on" else 0.25), 96.0)
        folder.requests(number, rows)
        folder.run_end(number)
        folder.event("engine", n=number, state="stopped")
    folder.event("close")
    return path


def _paced(outcome: Outcome, factor: float) -> Outcome:
    ttft, decode = outcome.ttft_s or 0.0, outcome.decode_s or 0.0
    return replace(outcome, ttft_s=round(ttft * factor, 6), decode_s=round(decode * factor, 6),
                   e2e_s=round((ttft + decode) * factor, 6),
                   server_prefill_s=round((ttft - 0.01) * factor, 6))  # fmt: skip
