"""An experiment on one lever, as the literature asks for it, on made-up requests: prefix, chunked or speculative.

  prefix       prefix caching off and on: one 4K-token prefix, 20 requests, one at a time, and a control whose
               prompts begin with a timestamp
  chunked      chunked prefill off and at several token budgets: short requests with long ones among them, 8 at a time
  speculative  n-gram and draft-model speculation against none: extraction, templated answers, open writing

Arms are replayed as `vtune compare` does. The result is a vtune.comparison/1 object with a `lab` block. Where all
requests would take over ten minutes, fewer are sent and fewer arms are made; the prompts stay as long as they are.
"""

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.commands import comparing, options
from tui.errors import VtuneError

if TYPE_CHECKING:
    from tui.session.lab.prepare import Lab
    from tui.session.session import Session

STUDIES = ("prefix", "chunked", "speculative")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", choices=STUDIES, help="which experiment")
    options.profile(parser)
    parser.add_argument("--scale", type=float, metavar="X", help="X times the requests; prompts keep their length")
    parser.add_argument("--arms", metavar="A,B", help="other values of the lever, baseline first (not with prefix)")
    options.settings(parser)
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="mirrored rounds, two replays an arm each")
    parser.add_argument("--start", choices=("plain", "warm"), help="how engines start: warm on a CPU, plain on a GPU")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the statistics")
    parser.add_argument("--no-check", action="store_true", help="don't ask whether the answers changed")
    parser.add_argument("--session", metavar="DIR", help="keep the session in this folder")
    parser.add_argument("--out", metavar="DIR", help="result, report, rows, requests: benchmarks/DEVICE/STUDY")
    parser.add_argument("--report", metavar="FILE.md", help="write the report")
    options.output(parser)


def run(args: argparse.Namespace) -> int:
    for target in (args.json, *options.report_files(args.report)):
        options.refuse_existing(target, args.force)
    if args.out:
        _refuse_out(Path(args.out), args.force)
    return asyncio.run(_lab(args))


def _refuse_out(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise VtuneError(f"{folder} is not a folder", "name another one")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise VtuneError(f"{folder} is not empty", "name another folder, or give --force to write over it")


async def _lab(args: argparse.Namespace) -> int:
    from tui.session.lab.conduct import conduct
    from tui.session.lab.summary import announced

    lab, session = _prepared(args)
    failure = await comparing.carried_out(session, announced(lab), lambda say: conduct(session, lab, say))
    return comparing.ended(failure, _written(args, session))


def _prepared(args: argparse.Namespace) -> "tuple[Lab, Session]":
    from dataclasses import replace

    from tui import paths
    from tui.engine import profile as profiles
    from tui.engine.profile_set import with_settings
    from tui.session.folder import new_folder
    from tui.session.lab.conduct import session_of
    from tui.session.lab.prepare import prepare

    profile = with_settings(profiles.load(args.profile), args.settings)
    lab = prepare(args.study, profile, args.scale, args.arms, args.rounds, args.seed, args.start)
    if args.no_check:
        lab = replace(lab, plan=replace(lab.plan, check=False))
    folder = Path(args.session) if args.session else new_folder()
    return lab, session_of(lab, paths.private_dir(folder))


def _written(args: argparse.Namespace, session: "Session") -> comparing.Result | None:
    from tui.session.lab.summary import lines

    found = comparing.written(args, session)
    if found is not None and args.out:
        _publish(Path(args.out), session.folder, found)
    if found is not None:
        comparing.told(args, lines(found))
    return found


def _publish(out: Path, session: Path, found: dict[str, Any]) -> None:
    """Nothing in it is anybody's: the prompts are made up."""
    from tui.session import report

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtuneError(f"can't make {out}: {error.strerror}", "name a folder you may write to") from error
    options.write_json(str(out / "result.json"), found)
    options.write_report(str(out / "report.md"), [session])
    options.write(str(out / "requests.csv"), report.render(session, "csv"))
    for recording in sorted(session.glob("lab-*.jsonl")):
        options.write(str(out / recording.name), recording.read_text(encoding="utf-8"))
