"""Turn the command line of a vLLM that serves already into a profile: vtune adopt -o PROFILE -- vllm serve MODEL ..."""

import argparse
import shlex
import sys
from pathlib import Path

from tui.commands import options
from tui.errors import VtuneError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="PROFILE", help="the file to write; - is standard output (default)")
    parser.add_argument("--name", metavar="NAME", help="of the profile; the file's by default")
    parser.add_argument("--python", metavar="P", help="the interpreter whose vLLM knows the flags; auto finds one")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("words", metavar="vllm serve ...", nargs=argparse.REMAINDER, help="the command line, after --")


def run(args: argparse.Namespace) -> int:
    from tui.engine import adopt, profile

    words = _words(args)
    target = args.output or "-"
    options.refuse_existing(target, args.force)
    name = args.name or ("adopted" if target == "-" else Path(target).stem)
    adopted = adopt.adopt(words, name, _known(args.python))
    profile.parse(adopted.text)  # what can't be read again is not written
    options.write(target, adopted.text)
    for note in adopted.notes:
        print(f"not kept: {note}", file=sys.stderr)
    return 0


def _words(args: argparse.Namespace) -> list[str]:
    """The command line; `-o FILE` may also stand behind it, as `adopt -- vllm serve ... -o FILE`."""
    words = list(args.words)
    if words[:1] == ["--"]:
        words = words[1:]
    if args.output is None and len(words) >= 2 and words[-2] in ("-o", "--output"):
        args.output = words[-1]
        words = words[:-2]
    if len(words) == 1:  # one quoted line, as a shell history or a unit file has it
        try:
            words = shlex.split(words[0])
        except ValueError as error:
            raise VtuneError(
                f"this command line is not whole: {error}", "quote it once, or give it after --"
            ) from error
    if not words:
        raise VtuneError("no command line", "write it after --: vtune adopt -o PROFILE -- vllm serve MODEL ...")
    return [word for word in words if word != "\\"]


def _known(python: str | None):  # noqa: ANN202 - Mapping[str, Flag] | None
    """The flags of the install; without one, what vtune knows of vLLM's command line has to do."""
    from tui.engine import flags, install

    try:
        return flags.known_flags(install.find(python or "auto"))
    except VtuneError:
        if python is not None:
            raise
        return None
