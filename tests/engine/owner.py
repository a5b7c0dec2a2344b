"""A stand-in for vtune that is going to be killed: opens a keeper, launches unruly children, prints what runs."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from tui.engine.keeper import Keeper

sys.path.insert(0, str(Path(__file__).parent))
from processes import settled  # noqa: E402


async def main(folder: Path, *modes: str) -> None:
    if "heir" in modes:  # a forked child that keeps every descriptor, and so the link to the keeper, open
        keeper = await Keeper.open()
        heir = os.fork()
        if heir == 0:
            os.closerange(0, 3)
            time.sleep(600)
    else:
        keeper, heir = await Keeper.open(), None
    log = folder / "owned.log"
    script = str(Path(__file__).parent / "unruly.py")
    await keeper.launch(f"owned-{os.getpid()}", [sys.executable, script, *modes], dict(os.environ), log)
    print(json.dumps({"keeper": keeper.pid, "heir": heir, "pids": await settled(log)}), flush=True)
    await asyncio.sleep(600)


asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
