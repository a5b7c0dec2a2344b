"""The real engine for tests marked `engine`: what vtune itself would start, or a skip that says what is missing."""

import os

import pytest

from tui.engine import command, health, install, model_make
from tui.engine import profile as profiles
from tui.engine.launch import Launch
from tui.engine.profile_set import with_settings
from tui.engine.settings import Profile
from tui.errors import VtuneError


def demo(*settings: str) -> Profile:
    """The demo profile with settings in the words of --set, its model made; VTUNE_TEST_MODEL replaces the model."""
    given = os.environ.get("VTUNE_TEST_MODEL")
    wanted = with_settings(profiles.load("demo"), [*([f"engine.model={given}"] if given else []), *settings])
    try:
        model_make.ensure(wanted.engine.model, install.find(wanted.engine.python), print)
    except VtuneError as error:
        pytest.skip(f"{error.what} ({error.mend})")
    return wanted


def launch(*settings: str) -> Launch:
    """A launch of the demo profile on a free port. VtuneError where its settings can't be had together."""
    wanted = demo(*settings)
    return command.build(wanted, install.find(wanted.engine.python), health.free_port())
