"""Files that are known, and why they are not imported."""

import re

from tui.traffic.importers.sniff import Sniffed

_SERVEGEN = re.compile(r"^\d+(\.\d+)?,[\d.]+,[\d.]+,(Gamma|Weibull|),")
_GOREPLAY = re.compile(r"^[123] [0-9a-f]{16,40} \d{10,20}( -?\d+)?$")
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
)
_RECORD = "record the traffic itself with `vtune record`"


def surely(found: Sniffed) -> tuple[str, str] | None:
    """(what it is and why it can't be imported, what to do instead) for what no format could be."""
    for magic, what, mend in _MAGIC:
        if found.head.startswith(magic):
            return f"{what}, which vtune does not read", mend
    if not found.head.strip():
        return "an empty file", "give a file of recorded traffic"
    first, text = found.first_line, found.head[:4096].decode(errors="replace")
    if _GOREPLAY.match(first):
        return (
            "a goreplay capture, which vtune does not read",
            f"replay it through the recorder (gor --output-http), or {_RECORD}",
        )
    if _SERVEGEN.match(first):
        return (
            "a ServeGen rate model: it has rates and no requests",
            "draw requests from it with ServeGen, then import those",
        )
    if re.match(r"\s*interactions:", text):
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
    if found.first_line.startswith(("# ", "<!", "<html")):
        return "a text document", "give a file of recorded traffic"
    if b'"retrieved_context"' in found.head:
        return "a RAGChecker file: no prompts as they were sent", _RECORD
    if "log" in found.keys:
        return "no sound HTTP archive: it has no log.entries", "export the archive again"
    return _by_keys(found) or (
        "no format that vtune knows",
        "name one with --format, or write OpenAI Batch lines: custom_id, url, body, timestamp",
    )  # fmt: skip


def _by_keys(found: Sniffed) -> tuple[str, str] | None:
    known = (
        (("response", "custom_id"), "an OpenAI Batch output: answers without requests", "import its input file"),
        (("golden_answers",), "a FlashRAG file: questions without passages", _RECORD),
        (("contexts", "input"), "an MT-RAG file: passages and turns, not yet prompts", "write OpenAI Batch lines"),
        (("requests", "timestamp"), "an AIBrix workload, which vtune does not read", "write it as OpenAI Batch lines"),
        (("nodes",), "a graph of requests, which vtune does not read", "write OpenAI Batch lines"),
        (("rate", "cv"), "a ServeGen rate model: it has rates and no requests", "draw requests from it with ServeGen"),
    )  # fmt: skip
    for keys, what, mend in known:
        if found.has(*keys):
            return what, mend
    return None
