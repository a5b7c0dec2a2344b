from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"


@pytest.fixture
def hard_prefixes():
    path = SHARED / "hard" / "09_prefix_breakers.jsonl"
    if not path.is_file():
        pytest.skip("the shared traces are not beside this checkout")
    return path
