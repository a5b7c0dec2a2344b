"""The stand-in as an interpreter: ``-m vllm...`` starts it, anything else is run by the real Python."""

import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.launchers", "vllm.entrypoints.cli.main")


def main(argv: list[str]) -> int:
    if argv[:1] == ["-m"] and argv[1:2] and argv[1] in _SERVERS:
        sys.path.insert(0, str(_HERE.parent))
        from standin.engine import run

        return run([word for word in argv[2:] if word != "serve"])
    # Probes and keepers: the real Python, in which `shown/` shows a vLLM that can be found but not served.
    seen = os.environ.get("PYTHONPATH")
    shown = str(_HERE / "shown")
    os.environ["PYTHONPATH"] = f"{shown}{os.pathsep}{seen}" if seen else shown
    os.execv(sys.executable, [sys.executable, *argv])


if __name__ == "__main__":
    # A script's own folder would come first on the path, where other modules of this folder lie.
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != _HERE]
    sys.exit(main(sys.argv[1:]))
