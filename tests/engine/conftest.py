from collections.abc import Callable

import pytest
import real

from tui.engine.launch import Launch


@pytest.fixture
def real_launch() -> Callable[..., Launch]:
    """Builds a launch of the demo profile with settings in the words of --set."""
    return real.launch
