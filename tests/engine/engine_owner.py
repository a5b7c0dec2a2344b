"""A stand-in for vtune that is going to be killed while its engine runs: python engine_owner.py FOLDER < launch.json"""

import asyncio
import json
import sys
from pathlib import Path

from tui.engine.keeper import Keeper
from tui.engine.launch import Launch
from tui.engine.process import Engine


async def main(folder: Path) -> None:
    keeper = await Keeper.open()
    launch = Launch(**json.load(sys.stdin))
    engine = Engine(launch, keeper, folder / "engine-1.log", lambda event: None)
    await engine.start()
    print(json.dumps({"keeper": keeper.pid, "pids": engine.pids()}), flush=True)
    await asyncio.sleep(600)


asyncio.run(main(Path(sys.argv[1])))
