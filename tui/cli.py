"""The door: the command line of vtune.

Nothing heavy is imported here; a command's module is loaded when it is the one that was asked for.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tui import __version__, paths
from tui.errors import Exit, VtuneError

# name -> one line for --help; each is a module in tui.commands with `arguments(parser)` and `run(args) -> int`.
COMMANDS = {
    "replay": "replay a recording on an engine and write the result",
    "compare": "replay a recording on arms, fairly, and say what the lever did",
    "lab": "an experiment on one lever: prefix caching, chunked prefill or speculative decoding",
    "record": "record real traffic: a proxy in front of an OpenAI-compatible server",
    "import": "turn traffic that another tool recorded into a recording",
    "convert": "write a recording in another tool's format",
    "inspect": "say how much of its prompts a recording could reuse, and what breaks it",
    "synth": "make up a recording of synthetic load",
    "report": "write the report of a session",
    "open": "show a kept session in the dashboard, to read",
    "sessions": "list the sessions that are kept",
    "levers": "list the levers with what they are set to",
    "command": "print the vLLM command line of an arm",
    "keys": "list the dashboard's actions and their keys, which keys.yaml may change",
    "adopt": "turn a vLLM command line into a profile",
    "doctor": "check what vtune needs and name the mend",
    "where": "print the directories that vtune uses",
}
# Commands whose name can't be a module's.
MODULES = {"import": "importing"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run vtune and return its exit code; the console script exits with it."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words or bool(os.environ.get("VTUNE_DEBUG"))
    try:
        args = _parser(words).parse_args(words)
        return int(_module(args.command).run(args))
    except VtuneError as error:
        if debug:
            _traceback()
        print(f"vtune: {plain(error.what)}\n  mend: {plain(error.mend)}", file=sys.stderr)
        return int(error.code)
    except KeyboardInterrupt:
        print("vtune: interrupted", file=sys.stderr)
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`vtune levers | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.DONE)
    except Exception as error:
        if debug:
            _traceback()
        else:
            print(f"vtune: a fault of vtune's own: {type(error).__name__}: {plain(str(error))}", file=sys.stderr)
            print("  mend: run it again with --debug and report what it prints", file=sys.stderr)
        return int(Exit.BUG)


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def plain(text: str) -> str:
    """One line without control characters: error texts may quote logs, files and servers."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _module(name: str):  # noqa: ANN202 - a module
    return importlib.import_module(f"tui.commands.{MODULES.get(name, name)}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise VtuneError(message, f"see `{self.prog} --help`")


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for these words: a sub-command's arguments are only loaded when it is named first."""
    named = next((word for word in words if not word.startswith("-")), None)
    if named in COMMANDS and words[0] == named:
        parser = _Parser(prog="vtune")
        subparsers = parser.add_subparsers(dest="command", required=True)
        module = _module(named)
        sub = subparsers.add_parser(
            named,
            help=COMMANDS[named],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(sub)
        _debug(sub)
        return parser
    listing = "\n".join(f"  vtune {name:<10} {line}" for name, line in COMMANDS.items())
    parser = _Parser(
        prog="vtune",
        description="Live tuning of vLLM for RAG: the dashboard on a profile.",
        epilog=f"commands:\n{listing}\n\nprofiles:\n{_profiles()}\n\n`vtune COMMAND --help` tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="dashboard")
    parser.add_argument("--version", action="version", version=f"vtune {__version__}")
    _module("dashboard").arguments(parser)
    _debug(parser)
    return parser


def _profiles() -> str:
    """Each profile with its first line, which says what it is for. Read as text: a broken one is told when used."""
    folders = (paths.bundled("profiles"), paths.config() / "profiles")  # the user's own last: they win
    files = {file.stem: file for folder in folders for file in (*folder.glob("*.yaml"), *folder.glob("*.yml"))}
    lines = []
    for name, file in sorted(files.items()):
        try:
            with open(file, encoding="utf-8", errors="replace") as text:
                first = text.readline().lstrip("#").strip()
        except OSError:
            first = ""
        lines.append(f"  {name:<16} {plain(first)[:90]}".rstrip())
    return "\n".join(lines)


def _debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show a traceback when something fails")


def run() -> None:
    """Entry of the console script."""
    sys.exit(main())
