"""A kept session with a run that is seen while it goes on: ticks, scrapes, an engine that starts and one that fails."""

from pathlib import Path

from session.made_session import LEVERS, Folder, N, counters, outcome


def tick(done: int) -> dict[str, object]:
    """What the replay told after `done` requests of 2 s each, one after the other."""
    rows = [outcome(i, 1.5, 0) for i in range(done)]
    finished = [
        {"id": o.id, "group": o.group, "status": "ok", "reuse": o.reuse, "at_s": 2.0 * i + 2, "ttft_s": o.ttft_s,
         "tpot_s": 0.034, "e2e_s": o.e2e_s, "prompt_tokens": o.prompt_tokens, "cached_tokens": 0, "output_tokens": 16}
        for i, o in enumerate(rows[-1:], done - 1)
    ]  # fmt: skip
    return {
        "at_s": 2.0 * done, "total": N, "sent": min(N, done + 1), "ok": done, "failed": 0, "cancelled": 0,
        "running": int(done < N), "waiting": 0, "content_chunks": 16 * done, "output_tokens": 16 * done,
        "max_lag_s": 0.001, "dropped": 0, "finished": finished, "in_flight": [],
    }  # fmt: skip


def kept(path: Path, close: bool = True) -> Path:
    """50 s of a run on an engine without prefix caching; then an engine with an fp8 KV cache that does not start."""
    folder = Folder(path)
    folder.engine(1, LEVERS, LEVERS, [])
    folder.run(1, 1, "baseline")
    rows = [outcome(i, 1.5, 0, begin=2.0 * i) for i in range(N)]
    for done in range(1, N + 1):
        folder.event("tick", 1.75, n=1, tick=tick(done))
        folder.scrape(1, counters(done, 2048 + 1116 * done, 0, kv=0.05 + 0.3 * (done % 8) / 8))
    folder.requests(1, rows)
    folder.run_end(1)
    folder.event("lever", name="kv-dtype", value="fp8")
    folder.event("launch", n=2, argv=["vllm", "serve"], asked={**LEVERS, "kv-dtype": "fp8"}, log="engine-2.log",
                 start_kind="plain", model="smollm2-135m")  # fmt: skip
    folder.event("phase", n=2, name="import")
    folder.event("engine", 12.0, n=2, state="failed", what="no memory for the KV cache", mend="lower max-model-len")
    if close:
        folder.event("close", 5.0)
    return path
