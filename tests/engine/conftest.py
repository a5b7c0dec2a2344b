from collections.abc import AsyncIterator, Callable

import pytest
import real

from tui.engine.keeper import Keeper
from tui.engine.launch import Launch


@pytest.fixture
def real_launch() -> Callable[..., Launch]:
    """Builds a launch of the demo profile with settings in the words of --set."""
    return real.launch


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    """One of the test's own, which ends what it still has with the test."""
    keeper = await Keeper.open()
    yield keeper
    if not keeper.lost.done():
        await keeper.close()
