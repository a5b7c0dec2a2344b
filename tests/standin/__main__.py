"""``python -m standin --port 8000 ...``: the stand-in by hand, with vLLM's flags."""

import sys

from standin.engine import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
