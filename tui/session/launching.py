"""A profile as a launch on the vLLM that is installed, and the engine that serves with it."""

import asyncio
from collections.abc import Callable

from tui.engine import command, flags, health, install, model_make
from tui.engine.launch import Launch
from tui.engine.process import EngineFailed
from tui.engine.settings import Profile
from tui.session.host import Host


def launch_of(profile: Profile, say: Callable[[str], None]) -> Launch:
    """Blocking: finds vLLM, asks its parser (once per install), makes the bundled model (once)."""
    found = install.find(profile.engine.python)
    found = found.with_flags(flags.known_flags(found))
    model_make.ensure_for(profile, found, say)
    return command.build(profile, found, profile.engine.port or health.free_port())


async def switch(host: Host, profile: Profile, say: Callable[[str], None]) -> None:
    """Serve with `profile`; `say`, called from any thread, tells what takes long. Raises VtuneError (exit 3)."""
    launch = await asyncio.to_thread(launch_of, profile, say)
    try:
        await host.switch(launch, profile.name)
    except EngineFailed as error:
        # Between finding the port free and binding it, somebody else may have taken it.
        if error.diagnosis.cause != "port-taken" or profile.engine.port is not None:
            raise
        await host.switch(await asyncio.to_thread(launch_of, profile, say), profile.name)
