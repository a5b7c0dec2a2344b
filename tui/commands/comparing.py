"""What `compare` and `lab` share: they conduct a session to its end, write what was measured and say how it went."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from tui.commands import options
from tui.commands.replay import caught
from tui.errors import Exit, VtuneError

if TYPE_CHECKING:
    from tui.session.session import Session

Say = Callable[[str], None]
Result = dict[str, Any]


async def carried_out(
    session: "Session", announced: Iterable[str], conduct: Callable[[Say], Coroutine[Any, Any, None]]
) -> VtuneError | None:
    """Conduct the session and close it. What ended it early is returned: what was measured is written first."""
    from tui.commands.progress import Progress

    progress = Progress()
    progress.say(f"session {session.folder}")
    for line in announced:
        progress.say(line)
    session.subscribe(progress)
    work = asyncio.create_task(conduct(progress.say))
    with caught(work):
        try:
            await work
        except asyncio.CancelledError:
            return VtuneError("interrupted", "", Exit.INTERRUPTED)
        except VtuneError as error:
            return error
        finally:
            progress.close()
            await session.close()
    return None


def written(args: argparse.Namespace, session: "Session") -> Result | None:
    """Computed from the session folder, as far as it goes; None when not a single replay ended."""
    from tui.session import report

    found = report.compared(session.folder)
    if found is not None and args.json:
        options.write_json(args.json, found)
    if found is not None and args.report:
        options.write_report(args.report, [session.folder])
    return found


def told(args: argparse.Namespace, lines: Iterable[str]) -> None:
    """Print the summary, unless the result itself goes to stdout."""
    if "-" not in (args.json, args.report):
        print("\n".join(lines))


def ended(failure: VtuneError | None, found: Result | None, gate: bool = False) -> int:
    """The exit code; raises what ended the session early, unless that was the user."""
    if failure is None:
        return exit_code(found, gate)
    if failure.code is Exit.INTERRUPTED:
        return Exit.INTERRUPTED
    raise failure


def exit_code(found: Result | None, gate: bool) -> int:
    arms = found["arms"] if found else []
    silent = [a["name"] for a in arms if any(r["requests"]["sent"] and not r["requests"]["ok"] for r in a["runs"])]
    missed = [a["name"] for a in arms if any(target["met"] is False for target in a["targets"])]
    if silent:
        what, where = f"every request of a replay failed: {', '.join(silent)}", "requests.errors"
    elif gate and missed:
        what, where = f"a target was missed: {', '.join(missed)}", "targets"
    else:
        unknown = [f"{t['name']} of {a['name']}" for a in arms for t in a["targets"] if gate and t["met"] is None]
        if unknown:
            print(f"vtune: a target could not be judged, so it gates nothing: {', '.join(unknown)}", file=sys.stderr)
        return Exit.DONE
    print(f"vtune: {what}\n  mend: see {where} in the result", file=sys.stderr)
    return Exit.MISSED
