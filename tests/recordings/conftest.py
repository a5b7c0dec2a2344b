"""The shipped recordings, and the program that made them, which lives outside the vtune package."""

import sys
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[2] / "recordings"
NAMES = ("rag-handbook", "mixed-lengths", "extract-and-write")
sys.path.insert(0, str(RECORDINGS))


@pytest.fixture(params=NAMES)
def shipped(request):
    """Each recording that ships, loaded from its file."""
    from tui.traffic.recording import load

    return load(RECORDINGS / f"{request.param}.jsonl")
