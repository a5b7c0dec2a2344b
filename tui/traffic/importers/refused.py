"""Files that are known, and why they are not imported."""

import re

from tui.traffic.importers.sniff import Sniffed

_SERVEGEN = re.compile(r"^\d+(\.\d+)?,[\d.]+,[\d.]+,(Gamma|Weibull|),")
_GOREPLAY = re.compile(r"^[123] [0-9a-z]{16,40} \d{10,20}( -?\d+)?$")
_RECORD = "record the traffic itself with `vtune record`"
_MAGIC = (
    (b"PK\x03\x04", "a zip archive", "unpack it first: vtune reads plain, .gz and .zst files"),
    (
        b"PAR1",
        "a Parquet file",
        "write it as JSON lines first (pandas: to_json with lines=True)",
    ),
    (b"ARROW1", "an Arrow file", "write it as JSON lines first"),
    (b"SQLite format 3", "an SQLite database", "export the table as JSON lines first"),
    (b"\x89HDF", "an HDF5 file", "write it as JSON lines first"),
    (b"BZh", "a bzip2 archive", "unpack it first: vtune reads plain, .gz and .zst files"),
    (b"\xfd7zXZ", "an xz archive", "unpack it first: vtune reads plain, .gz and .zst files"),
    (b"%PDF", "a PDF", "give a file of recorded traffic"),
    (b"\x1f\x8b", "a file that is compressed twice", "unpack it once first"),
    (b"\x28\xb5\x2f\xfd", "a file that is compressed twice", "unpack it once first"),
    (b"\xd4\xc3\xb2\xa1", "a packet capture", _RECORD),
    (b"\x0a\x0d\x0d\x0a", "a packet capture", _RECORD),
    (b"\x93NUMPY", "a NumPy array", "write it as JSON lines first"),
    (b"\x80\x04\x95", "a Python pickle", "write it as JSON lines first"),
    (b"\x80\x05\x95", "a Python pickle", "write it as JSON lines first"),
)
_TAR = (257, b"ustar")


def surely(found: Sniffed) -> tuple[str, str] | None:
    """(what it is and why it can't be imported, what to do instead) for what no format could be."""
    for magic, what, mend in _MAGIC:
        if found.head.startswith(magic):
            return f"{what}, which vtune does not read", mend
    if found.head[_TAR[0] :].startswith(_TAR[1]):
        return "a tar archive, which vtune does not read", "unpack it first, and give one of its files"
    if not found.head.strip():
        return "an empty file", "give a file of recorded traffic"
    first, text = found.first_line, found.head[:4096].decode(errors="replace")
    if _GOREPLAY.match(first) or "🐵🙈🙉" in text:
        return (
            "a goreplay capture, which vtune does not read",
            f"replay it through the recorder (gor --output-http), or {_RECORD}",
        )
    if _SERVEGEN.match(first):
        return (
            "a ServeGen rate model: it has rates and no requests",
            "draw requests from it with ServeGen, then import those",
        )
    if re.search(r"^interactions:", text, re.MULTILINE) or {"interactions", "recorded_with"} & set(found.keys):
        return (
            "VCR cassettes, which have no times of their requests",
            f"{_RECORD}, or write their bodies as OpenAI Batch lines",
        )
    if re.search(r"^load:\s*$", text, re.MULTILINE) and re.search(r"^(data|api|server):", text, re.MULTILINE):
        return (
            "an inference-perf configuration: it describes load and holds no traffic",
            "import the trace that it names",
        )
    return None


def why(found: Sniffed) -> tuple[str, str]:
    """The same for what no format took."""
    first = found.first_line
    if first.startswith(("# ", "<!", "<html")):
        return "a text document", "give a file of recorded traffic"
    if first.startswith(("<?xml", "<jmeterTestPlan")):
        return "an XML document: a test plan or report, not recorded traffic", _RECORD
    if _ACCESS.search(first):
        return "an access log: it has no prompts", _RECORD
    if first.startswith(("-- ", "--", "INSERT INTO", "CREATE TABLE")):
        return "an SQL dump, which vtune does not read", "export the table as CSV or JSON lines"
    if b'"retrieved_context"' in found.head:
        return "a RAGChecker file: no prompts as they were sent", _RECORD
    if found.has("log", "stream", "time"):
        return "Docker's JSON log", "take the log itself out of it: jq -rj .log FILE > vllm.log"
    if "log" in found.keys:
        return "no sound HTTP archive: it has no log.entries", "export the archive again"
    known = ((what, mend) for keys, what, mend in _KNOWN if found.has(*keys) or set(keys) <= set(found.keys))
    return next(known, None) or (
        "no format that vtune knows",
        "name one with --format, or write OpenAI Batch lines: custom_id, url, body, timestamp",
    )  # fmt: skip


_ACCESS = re.compile(r'"(?:GET|POST|PUT|OPTIONS) \S+ HTTP/[\d.]+" \d{3}\b')
_LINES = "write OpenAI Batch lines: custom_id, url, body, timestamp"
_OTHER_API = "vtune replays chats and completions: write OpenAI Batch lines with url /v1/chat/completions"
# By the keys of a row, the telling ones first.
_KNOWN = (
    (("response", "custom_id"), "an OpenAI Batch output: answers without requests", "import its input file"),
    (("params", "custom_id"), "an Anthropic message batch", _OTHER_API),
    (("choices", "object"), "answers of a chat or completion API, without their requests", _RECORD),
    (("contents",), "requests of the Gemini API", _OTHER_API),
    (("request", "key"), "requests of the Gemini API", _OTHER_API),
    (("inputs", "run_type"), "LangSmith runs, which vtune does not read", _LINES),
    (("inputs", "parameters"), "requests of Text Generation Inference", _OTHER_API),
    (("schemaType", "modelId"), "a Bedrock invocation log, which vtune does not read", _LINES),
    (("request_body", "response_body"), "a Helicone export, which vtune does not read", _LINES),
    (("traceID", "spans"), "a Jaeger trace, which vtune does not read", "export the spans as OTLP JSON"),
    (("traceId", "localEndpoint"), "Zipkin spans, which vtune does not read", "export the spans as OTLP JSON"),
    (("resourceMetrics",), "OpenTelemetry metrics: they have no requests", "export the spans as OTLP JSON"),
    (("traceId", "duration", "timestamp"), "Zipkin spans, which vtune does not read", "export the spans as OTLP JSON"),
    (("golden_answers",), "a FlashRAG file: questions without passages", _RECORD),
    (("contexts", "input"), "an MT-RAG file: passages and turns, not yet prompts", _LINES),
    (("requests", "timestamp"), "an AIBrix workload, which vtune does not read", _LINES),
    (("nodes",), "a graph of requests, which vtune does not read", _LINES),
    (("rate", "cv"), "a ServeGen rate model: it has rates and no requests", "draw requests from it with ServeGen"),
    (("benchmarks",), "a guidellm report: results, not requests", "import the data that it was run on"),
    (("num_prompts", "backend"), "a result of vllm bench: figures, not requests", "import the data that it was run on"),
    (("prompt_0",), "guidellm's columns of turns, which vtune does not read", _LINES),
    (("preferred_output",), "preferences for tuning: pairs of answers, not requests", _LINES),
    (("chosen", "rejected"), "preferences for tuning: pairs of answers, not requests", _LINES),
    (("instruction", "output"), "instructions for tuning, without the prompt they were put into", _LINES),
    (("item", "info"), "a Postman collection: requests to send, none that was sent", _RECORD),
    (("model", "input", "encoding_format"), "requests for embeddings", _OTHER_API),
    (("model", "input"), "requests of the Responses API, or for embeddings", _OTHER_API),
    (("sessionId", "userId", "timestamp"), "Langfuse traces without their observations", "export the observations"),
)  # fmt: skip
