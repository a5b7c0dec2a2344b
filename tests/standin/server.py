"""The stand-in's routes."""

import asyncio
import contextlib
import json
import os
import ssl
import time
from collections.abc import Callable
from typing import Any

from standin.exposition import exposition
from standin.faults import Faults
from standin.settings import Settings, captured
from standin.simulated import Plan, Simulated, TooLong, likelihood, rendered, tokenize
from standin.streams import Shape, chunks, usage
from standin.wire import Asked, Wire, read_request


class Server:
    """`seen` keeps every generation request, for tests to look at."""

    def __init__(self, settings: Settings, log: Callable[[str], None] = lambda line: None) -> None:
        self.settings, self.log = settings, log
        self.engine = Simulated(settings)
        self.faults = Faults().changed(json.loads(settings.fault or "{}"))
        self.seen: list[dict[str, Any]] = []
        self.connections = 0
        self.aborted = 0  # requests whose client went away
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        self._server = await asyncio.start_server(self._serve, host, port, ssl=tls, limit=1 << 24)
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._open):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        served = 0
        try:
            while True:
                limit = self.settings.keep_alive_s if served else None
                async with asyncio.timeout(limit):
                    asked = await read_request(reader)
                served += 1
                if not await self._answer(asked, reader, writer):
                    return
        except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
            return
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True when the connection stays open."""
        if asked.path in ("/v1/chat/completions", "/v1/completions"):
            return await self._generate(asked, reader, writer)
        status, body, kind = self._plain(asked)
        await Wire(writer, Faults()).whole(status, body, kind)
        self.log(f'INFO:     127.0.0.1:1 - "{asked.method} {asked.path} HTTP/1.1" {status} OK')
        return True

    def _plain(self, asked: Asked) -> tuple[int, bytes, str]:
        json_kind = "application/json"
        if asked.path in ("/health", "/ping"):
            return 200, b"", json_kind
        if asked.path == "/metrics":
            return 200, exposition(self.engine).encode(), "text/plain; version=1.0.0; charset=utf-8"
        if asked.path == "/standin/faults":
            self.faults = Faults().changed(asked.json())
            return 200, b"{}", json_kind
        answers: dict[str, Callable[[], Any]] = {
            "/version": lambda: {"version": self.settings.version},
            "/v1/models": self._models,
            "/tokenize": lambda: self._tokenize(asked.json()),
            "/standin/seen": lambda: {"requests": self.seen, "connections": self.connections, "aborted": self.aborted},
        }
        if self.settings.dev_mode:
            answers |= {"/reset_prefix_cache": self._reset, "/server_info": lambda: server_info(self.settings)}
        answer = answers.get(asked.path)
        if answer is None:
            return 404, b'{"detail":"Not Found"}', json_kind
        return 200, json.dumps(answer()).encode(), json_kind

    def _models(self) -> dict[str, Any]:
        row = json.loads(captured("models.json"))
        row["data"][0] |= {
            "id": self.settings.served,
            "root": self.settings.model,
            "max_model_len": self.settings.max_model_len,
        }
        return row

    def _tokenize(self, body: dict[str, Any]) -> dict[str, Any]:
        tokens = tokenize(rendered(body))
        return {
            "count": len(tokens),
            "max_model_len": self.settings.max_model_len,
            "tokens": tokens,
            "token_strs": None,
        }

    def _reset(self) -> dict[str, bool]:
        self.engine.reset()
        return {"success": True}

    async def _generate(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        body = asked.json()
        try:
            faults = self.faults.changed(body.pop("standin", {}))
        except ValueError as error:
            await Wire(writer, Faults()).whole(422, json.dumps({"detail": str(error)}).encode())
            return True
        self.seen.append({"path": asked.path, "query": asked.query, "headers": asked.headers, "body": body})
        if faults.drop_request:
            return False
        await asyncio.sleep(faults.slow_headers_s)
        wire = Wire(writer, faults)
        refused = self._refusal(asked, body, faults)
        if refused is None:
            try:
                plan = self.engine.admit(body, faults.text)
            except TooLong:
                refused = 400, _captured_body("chat-400.txt")
        if refused is not None:
            await wire.whole(*refused)
            return True
        work = asyncio.ensure_future(self._produce(asked, body, plan, faults, wire))
        gone = asyncio.ensure_future(reader.read(1))  # nobody pipelines, so this is the client's end
        done, _ = await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work not in done:
            work.cancel()
            self.aborted += 1
        else:
            gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
        try:
            return await work
        except asyncio.CancelledError:
            self.engine.ended(plan, 0, "abort")
            return False

    def _refusal(self, asked: Asked, body: dict[str, Any], faults: Faults) -> tuple[int, bytes] | None:
        key = self.settings.text("api-key")
        if key and asked.headers.get("authorization") != f"Bearer {key}":
            return 401, b'{"error":"Unauthorized"}'
        if body.get("model") not in (None, self.settings.served):
            return 404, _captured_body("chat-404.txt").replace(b"smollm2-135m", self.settings.served.encode())
        if faults.status == 400:
            return 400, _captured_body("chat-400.txt")
        if faults.status:
            error = {"message": "made to fail", "type": "InternalServerError", "param": None, "code": faults.status}
            return faults.status, json.dumps({"error": error}).encode()
        return None

    async def _produce(self, asked: Asked, body: dict[str, Any], plan: Plan, faults: Faults, wire: Wire) -> bool:
        engine, arrived = self.engine, time.monotonic()
        engine.waiting += 1
        waiting = True
        try:
            async with engine.places:
                engine.waiting -= 1
                waiting = False
                return await self._run(asked, body, plan, faults, wire, arrived)
        finally:
            engine.waiting -= waiting

    async def _run(
        self, asked: Asked, body: dict[str, Any], plan: Plan, faults: Faults, wire: Wire, arrived: float
    ) -> bool:
        engine, settings, started = self.engine, self.settings, time.monotonic()
        blocks = -(-(plan.prompt_tokens + len(plan.words)) // settings.block_size)
        engine.held[id(plan)] = blocks
        engine.running += 1
        try:
            if faults.hang_after == 0:
                await asyncio.Event().wait()
            prefill = settings.base_ms + settings.token_ms * (plan.prompt_tokens - plan.cached_tokens)
            if not body.get("stream"):
                await asyncio.sleep((prefill + settings.step_ms * (len(plan.steps) - 1)) / 1000)
                return await self._whole(asked, body, plan, wire, arrived, started)
            shape = Shape(body, "chat" in asked.path, asked.headers.get("x-request-id", "0"), faults)
            if faults.role_lead_s:
                await wire.begin()
                await wire.send(shape.role())
                await asyncio.sleep(faults.role_lead_s)
            await asyncio.sleep(prefill / 1000)
            first = time.monotonic()
            if not faults.role_lead_s:
                await wire.begin()
                if shape.chat:
                    await wire.send(shape.role())
            return await self._stream(body, plan, faults, wire, shape, (arrived, started, first))
        finally:
            engine.running -= 1
            del engine.held[id(plan)]

    async def _stream(
        self,
        body: dict[str, Any],
        plan: Plan,
        faults: Faults,
        wire: Wire,
        shape: Shape,
        times: tuple[float, float, float],
    ) -> bool:
        for _ in range(faults.comments):
            await wire.send(shape.end_lines(b": keep-alive\n\n"))
        every = list(chunks(plan, faults.tokens_per_chunk))
        due = time.monotonic()
        for number, (text, place, steps) in enumerate(every):
            if number:
                # By the clock, not after the last one: the load is as asked for also where the loop is late.
                due += self.settings.step_ms * steps / 1000
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            last = number == len(every) - 1
            if (stop := await self._fault(number, faults, wire, shape)) is not None:
                self.engine.ended(plan, place, "error")
                return stop
            await wire.send(shape.content(text, place, plan.finish_reason if last and not faults.no_done else None))
        self._observe(plan, len(plan.words), times)
        if (body.get("stream_options") or {}).get("include_usage") and not faults.no_usage:
            details = self.settings.on("enable-prompt-tokens-details", False)
            await wire.send(shape.usage(plan, len(plan.words), self._metrics(plan, times), details))
        if not faults.no_done:
            await wire.send(shape.end_lines(b"data: [DONE]\n\n"))
        await wire.end()
        return not (faults.close_delimited or faults.close_after)

    async def _fault(self, number: int, faults: Faults, wire: Wire, shape: Shape) -> bool | None:
        if number == faults.die_after:
            os._exit(9)
        if number == faults.hang_after:
            await asyncio.Event().wait()
        if number == faults.cut_after:
            wire.writer.transport.abort()
            return False
        if number == faults.error_after:
            await wire.send(shape.error())
            await wire.send(shape.end_lines(b"data: [DONE]\n\n"))
            await wire.end()
            return True
        return None

    async def _whole(
        self, asked: Asked, body: dict[str, Any], plan: Plan, wire: Wire, arrived: float, started: float
    ) -> bool:
        row = json.loads(captured("chat-whole.txt").partition("\n\n")[2])
        text = "".join(plan.words)
        first = started + (time.monotonic() - started) / max(len(plan.steps), 1)
        row |= {"model": body.get("model"), "id": f"chatcmpl-{asked.headers.get('x-request-id', '0')}"}
        row["choices"][0] |= {"finish_reason": plan.finish_reason}
        if "chat" in asked.path:
            row["choices"][0]["message"]["content"] = text
        else:
            del row["choices"][0]["message"]
            row["choices"][0]["text"] = text
            if body.get("prompt_logprobs") is not None:
                row["choices"][0]["prompt_logprobs"] = _prompt_logprobs(body["prompt"])
        row["usage"] = usage(plan, len(plan.words), self.settings.on("enable-prompt-tokens-details", False))
        row["metrics"] = self._metrics(plan, (arrived, started, first))
        self._observe(plan, len(plan.words), (arrived, started, first))
        await wire.whole(200, json.dumps(row).encode())
        return True

    def _observe(self, plan: Plan, produced: int, times: tuple[float, float, float]) -> None:
        engine, (arrived, started, first), now = self.engine, times, time.monotonic()
        engine.ended(plan, produced, plan.finish_reason)
        engine.observe("time_to_first_token_seconds", first - arrived)
        engine.observe("e2e_request_latency_seconds", now - arrived)
        engine.observe("request_queue_time_seconds", started - arrived)
        engine.observe("request_prefill_time_seconds", first - started)
        engine.observe("request_decode_time_seconds", now - first)
        engine.observe("request_inference_time_seconds", now - started)
        engine.observe("request_prompt_tokens", plan.prompt_tokens)
        engine.observe("request_generation_tokens", produced)
        if produced > 1:
            engine.observe("request_time_per_output_token_seconds", (now - first) / (produced - 1))
        for number, tokens in enumerate(plan.steps):  # every request is a batch of its own here
            computed = 0 if number else plan.prompt_tokens - plan.cached_tokens
            engine.observe("iteration_tokens_total", computed + tokens)
        for _ in plan.steps[1:]:
            engine.observe("inter_token_latency_seconds", (now - first) / (len(plan.steps) - 1))

    def _metrics(self, plan: Plan, times: tuple[float, float, float]) -> dict[str, Any] | None:
        if not self.settings.on("enable-per-request-metrics", False):
            return None
        (arrived, started, first), now = times, time.monotonic()
        row: dict[str, Any] = {
            "time_to_first_token_ms": (first - started) * 1000,
            "generation_time_ms": (now - first) * 1000,
            "queue_time_ms": (started - arrived) * 1000,
        }
        if plan.k and self.settings.text("per-request-spec-decode-metrics"):
            drafts, accepted = len(plan.accepted), sum(plan.accepted)
            row["speculative_decoding"] = {
                "mean_acceptance_length": 1 + accepted / drafts if drafts else 1.0,
                "draft_acceptance_rate": accepted / (drafts * plan.k) if drafts else 0.0,
                "acceptance_histogram": [plan.accepted.count(n) for n in range(plan.k + 1)],
                "num_spec_steps": drafts,
                "num_accepted_draft_tokens": accepted,
                "num_draft_tokens": drafts * plan.k,
                "num_spec_tokens": plan.k,
            }
        return row


def _prompt_logprobs(prompt: list[int]) -> list[dict[str, Any] | None]:
    rest = [{str(t): {"logprob": likelihood(t), "rank": 1, "decoded_token": "?"}} for t in prompt[1:]]
    return [None, *rest]


def _captured_body(name: str) -> bytes:
    return captured(name).replace("\r\n", "\n").partition("\n\n")[2].encode()


def server_info(settings: Settings) -> dict[str, Any]:
    """The captured /server_info with what the flags change in it."""
    info = json.loads(captured("server_info.json"))
    config = info["vllm_config"]
    config["model_config"] |= {
        "model": settings.model,
        "tokenizer": settings.model,
        "served_model_name": settings.served,
        "max_model_len": settings.max_model_len,
        "enforce_eager": settings.on("enforce-eager", False),
    }
    config["cache_config"] |= {
        "block_size": settings.block_size,
        "effective_attention_block_size": settings.block_size,
        "cache_dtype": settings.kv_dtype,
        "enable_prefix_caching": settings.prefix_caching,
        "num_gpu_blocks": settings.kv_blocks,
        "kv_cache_size_tokens": settings.kv_blocks * settings.block_size,
        "gpu_memory_utilization": float(settings.text("gpu-memory-utilization", "0.92")),
    }
    chunked = settings.on("enable-chunked-prefill", True)
    budget = settings.number("max-num-batched-tokens", 2048 if chunked else max(2048, settings.max_model_len))
    config["scheduler_config"] |= {
        "enable_chunked_prefill": chunked,
        "max_num_batched_tokens": budget,
        "max_num_scheduled_tokens": budget,
        "max_num_seqs": settings.number("max-num-seqs", 128),
        "long_prefill_token_threshold": settings.number("long-prefill-token-threshold", 0),
        "policy": settings.text("scheduling-policy", "fcfs"),
    }
    given = settings.speculation
    config["speculative_config"] = None if given is None else {**config["speculative_config"], **given}
    return info
