"""The flags of a command line that vtune wrote, read again."""

from collections.abc import Iterable


def flags(argv: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Flag (without dashes) -> its words, the last of equal ones; what stands before any flag is under ""."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = (value,) if equals else ()
        else:
            found[name] = (*found.get(name, ()), word)
    return found


def plain(argv: Iterable[str]) -> dict[str, bool | str]:
    """The same with values as levers read them: True and False of a switch, else the first word."""
    found: dict[str, bool | str] = {}
    for name, words in flags(argv).items():
        if name:
            bare = name.removeprefix("no-") if not words else name
            found[bare] = words[0] if words else bare == name
    return found


def model(argv: Iterable[str]) -> str:
    """The model that a server's command names, after ``--model`` or ``serve``; empty where it names none."""
    found = flags(argv)
    if given := found.get("model"):
        return given[0]
    before = found.get("", ())
    return before[before.index("serve") + 1] if "serve" in before[:-1] else ""
