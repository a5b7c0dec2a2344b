"""The real engine for tests marked `engine`: what vtune itself would start, or a skip that says what is missing."""

import os
from collections.abc import Callable

import pytest

from tui.engine import command, health, install, model, model_make, profile, profile_set
from tui.engine.launch import Launch
from tui.errors import VtuneError


@pytest.fixture
def real_launch() -> Callable[..., Launch]:
    """Builds a launch of the demo profile with settings in the words of --set; VTUNE_TEST_MODEL replaces its model."""

    def build(*settings: str) -> Launch:
        if given := os.environ.get("VTUNE_TEST_MODEL"):
            settings = (f"engine.model={given}", *settings)
        demo = profile_set.with_settings(profile.load("demo"), settings)
        try:
            found = install.find(demo.engine.python)
        except VtuneError as error:
            pytest.skip(error.what)
        if model.is_bundled(demo.engine.model) and not model_make.is_whole(model.place(demo.engine.model)):
            pytest.skip("the bundled model is not made yet: make setup")
        return command.build(demo, found, health.free_port())

    return build
