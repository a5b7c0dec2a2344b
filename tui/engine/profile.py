"""A profile: the YAML file that says what to serve, with which levers, under which traffic.

Whatever is wrong with it is told as ``file:line: what`` and how to mend it, before anything starts.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from tui import paths
from tui.engine import levers, profile_fields
from tui.engine.lever_forms import words_of
from tui.engine.profile_check import check
from tui.engine.profile_set import with_settings
from tui.engine.settings import EngineSettings, Profile, Target, TrafficSettings
from tui.engine.targets import target
from tui.errors import VtuneError

__all__ = ["EngineSettings", "Profile", "Target", "TrafficSettings", "load", "parse", "with_settings"]

_MOST_BYTES = 1 << 20


def load(ref: str) -> Profile:
    """The profile `ref`: a path, or the name of one of the user's or the bundled ones."""
    path = paths.find("profiles", ref, (".yaml", ".yml"))
    return parse(_text(path), path)


def entries(path: Path) -> list[tuple[int, str, Any]]:
    """(line, key, plain value) of each entry of another YAML file that is one mapping, such as the one of the keys.

    Raises VtuneError with file and line.
    """
    source = _text(path)
    file, root = _File(str(path), source), _composed(str(path), source)
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise file._error(root, VtuneError("not a list of key: value lines", "write one entry a line, as key: value"))
    pairs = file._pairs(root, "")
    return [(node.start_mark.line + 1, key, file._at(node, lambda _, value: value, key)) for key, node in pairs]


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise VtuneError(f"{path}: too large", "give a YAML file of at most 1 MiB")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise VtuneError(f"{path}: {error.strerror}", "give a file that can be read") from error
    except UnicodeDecodeError as error:
        raise VtuneError(f"{path}: not UTF-8 text (byte {error.start})", "save the file as UTF-8") from error


def parse(source: str, path: Path | None = None) -> Profile:
    """The profile that `source` (YAML) describes. Raises VtuneError with file and line."""
    where = str(path) if path else "profile"
    return _File(where, source).profile(_composed(where, source), path)


def _composed(where: str, source: str) -> yaml.Node | None:
    try:
        return yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _not_yaml(where, error) from error


def _not_yaml(where: str, error: yaml.YAMLError) -> VtuneError:
    mark = getattr(error, "problem_mark", None)
    line = f":{mark.line + 1}" if mark else ""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return VtuneError(f"{where}{line}: not YAML: {problem}", "mend the syntax; see profiles/demo.yaml for an example")


class _File:
    """Reads one file's nodes; knows how to say where something is wrong."""

    def __init__(self, where: str, source: str) -> None:
        self.where = where
        self.source = source
        self.lines: dict[str, int] = {}  # dotted key -> line, for checks that need the whole

    def profile(self, root: yaml.Node | None, path: Path | None) -> Profile:
        if root is None:
            raise VtuneError(f"{self.where}: an empty profile", "see profiles/demo.yaml for an example")
        sections = {key: node for key, node in self._pairs(root, "", profile_fields.SECTIONS)}
        if "engine" not in sections:
            raise self._error(root, VtuneError("no engine in this profile", "add engine: {model: ...}"))
        name = self._at(sections["name"], profile_fields.text, "name") if "name" in sections else None
        found = Profile(
            name=name or (path.stem if path else "unnamed"),
            path=path,
            source_text=self.source,
            engine=self._engine(sections["engine"]),
            levers=MappingProxyType(self._levers(sections.get("levers"))),
            traffic=TrafficSettings(**self._fields(sections.get("traffic"), "traffic", profile_fields.TRAFFIC)),
            targets=self._targets(sections.get("targets")),
        )
        try:
            return check(found)
        except VtuneError as error:
            key = error.what.partition(":")[0].partition("=")[0]
            line = self.lines.get(key) or self.lines.get(f"levers.{key}")
            raise VtuneError(f"{self.where}{f':{line}' if line else ''}: {error.what}", error.mend) from error

    def _engine(self, node: yaml.Node) -> EngineSettings:
        known = (*profile_fields.ENGINE, *profile_fields.ENGINE_MAPS)
        values: dict[str, Any] = {}
        for key, child in self._pairs(node, "engine", known):
            if read := profile_fields.ENGINE.get(key):
                values[key] = self._at(child, read, f"engine.{key}")
                continue
            entry = profile_fields.ENGINE_MAPS[key]
            plain = profile_fields.plain_flag if key == "args" else str
            pairs = self._pairs(child, f"engine.{key}")
            values[key] = MappingProxyType({plain(k): self._at(n, entry, f"engine.{key}.{k}") for k, n in pairs})
        if "model" not in values and "attach" in values:
            values["model"] = ""  # whatever is served there
        if "model" not in values:
            raise self._error(
                node, VtuneError("engine: no model", "add model: a hub id, a path, or bundled:smollm2-135m")
            )
        return EngineSettings(**{key.replace("-", "_"): value for key, value in values.items()})

    def _levers(self, node: yaml.Node | None) -> dict[str, str]:
        found: dict[str, str] = {}
        pairs = list(self._pairs(node, "levers", (*(lever.name for lever in levers.LEVERS), *levers.FACETS)))
        for key, child in sorted(pairs, key=lambda pair: pair[0] in levers.FACETS):  # a facet after its lever
            found = self._at(
                child, lambda _, value, key=key: levers.put(found, key, words_of(key, value)), f"levers.{key}"
            )
        return found

    def _fields(self, node: yaml.Node | None, section: str, known: dict[str, profile_fields.Reader]) -> dict[str, Any]:
        return {
            key: self._at(child, known[key], f"{section}.{key}") for key, child in self._pairs(node, section, known)
        }

    def _targets(self, node: yaml.Node | None) -> tuple[Target, ...]:
        found = (
            self._at(child, lambda _, value, key=key: target(key, value), f"targets.{key}")
            for key, child in self._pairs(node, "targets")
        )
        return tuple(one for one in found if one is not None)

    def _pairs(self, node: yaml.Node | None, section: str, known: Any = None) -> Iterator[tuple[str, yaml.Node]]:
        """The entries of a mapping; refuses another kind of node, a key twice, and one not `known`."""
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")):
            return
        title = section or "a profile"
        if not isinstance(node, yaml.MappingNode):
            raise self._error(
                node,
                VtuneError(
                    f"{title} is a list of key: value lines",
                    f"write {section or 'engine'}: and its keys below, indented",
                ),
            )
        seen: set[str] = set()
        for key_node, child in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            if key in seen:
                raise self._error(key_node, VtuneError(f"{key} stands twice in {title}", "keep one of them"))
            if known is not None and key not in known:
                inside = f" in {section}" if section else ""
                raise self._error(
                    key_node,
                    VtuneError(
                        f"unknown key {key!r}{inside}{levers.nearest(key, known)}", f"keys are {', '.join(known)}"
                    ),
                )
            seen.add(key)
            self.lines[f"{section}.{key}" if section else key] = key_node.start_mark.line + 1
            yield key, child

    def _at(self, node: yaml.Node, read: Callable[[str, Any], Any], key: str) -> Any:
        """`read` the node's plain value; what it refuses is told with the node's line."""
        loader = yaml.SafeLoader("")
        try:
            value = loader.construct_object(node, deep=True)
            return read(key, value)
        except VtuneError as error:
            raise self._error(node, error) from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise self._error(
                node, VtuneError(f"{key}: not a plain YAML value", "write text, a number, a list or a mapping")
            ) from error
        finally:
            loader.dispose()

    def _error(self, node: yaml.Node, error: VtuneError) -> VtuneError:
        return VtuneError(f"{self.where}:{node.start_mark.line + 1}: {error.what}", error.mend, error.code)
