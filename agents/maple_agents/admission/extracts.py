"""What is read of a file, in a form that can be kept: while the file is as it was, it need not be read again.

YAML, JSON and TOML as flat keys with their lines: nothing is constructed, nothing expands without end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .python_source import Constant, Declared, Source, source
from .user_files import Form

MOST_LEAVES = 4000
DEEPEST = 40
_SLOW = 64 * 1024  # bytes of YAML that are read where libyaml is not there
_KEY = re.compile(r"[ \t]*([\w.\"' -]{1,200}?)[ \t]*=")
_CORE = "tag:yaml.org,2002:"
SUFFIXES = (".yaml", ".yml", ".json", ".toml")

_PACKAGE = re.compile(rb"^\s*#\s*@package\s+(\S+)", re.MULTILINE)


class Leaf(NamedTuple):
    """*path*: keys and indices with dots between. *value* None: not a plain value. *line*: 0 not known."""

    path: str
    value: str | None
    line: int


class Unread(ValueError):
    """It is not of its format, or too deep, or too large."""


def leaves(data: bytes, path: str) -> list[Leaf]:
    """Return the values of a file by its suffix, () where it cannot be read."""
    try:
        text = data.decode("utf-8")
        if path.endswith(".toml"):
            return _of_toml(text)
        if path.endswith(".json"):
            json.loads(text)
            text = text.replace("\t", " ")  # JSON has no tab within a string
        elif not path.endswith((".yaml", ".yml")):
            return []
        return _of_yaml(text)
    except (ValueError, RecursionError, MemoryError, ImportError):
        return []


def _of_yaml(text: str) -> list[Leaf]:
    import yaml

    fast = getattr(yaml, "CSafeLoader", None)
    if fast is None and len(text) > _SLOW:
        raise Unread
    try:
        return _unmerged(_Tree().of(yaml.parse(text, Loader=fast or yaml.SafeLoader)))
    except (yaml.YAMLError, IndexError) as error:
        raise Unread from error


class _Tree:
    """The events of one document become leaves."""

    def __init__(self) -> None:
        self.found: list[Leaf] = []
        self._stack: list[_Level] = []
        self._anchors: dict[str, list[Leaf]] = {}  # paths relative to what is anchored

    def of(self, events: Iterator[Any]) -> list[Leaf]:
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentEndEvent":
                break
            if len(self.found) > MOST_LEAVES or len(self._stack) > DEEPEST:
                raise Unread
            getattr(self, "_" + kind, self._nothing)(event)
        return self.found

    def _nothing(self, event: Any) -> None:
        """What begins and ends a stream says nothing."""

    def _ScalarEvent(self, event: Any) -> None:
        level = self._stack[-1] if self._stack else None
        if level is not None and level.wants_key:
            level.key = event.value[:200].replace(".", "_")
            level.wants_key = False
            return
        plain = event.tag is None or event.tag.startswith(_CORE) or event.tag == "!"
        leaf = Leaf(self._place(), event.value if plain else None, event.start_mark.line + 1)
        self.found.append(leaf)
        if event.anchor:
            self._anchors[event.anchor] = [leaf._replace(path="")]

    def _AliasEvent(self, event: Any) -> None:
        place = self._place()
        copied = self._anchors.get(event.anchor, [])
        self.found += [leaf._replace(path=(place + "." + leaf.path).strip(".")) for leaf in copied]

    def _MappingStartEvent(self, event: Any) -> None:
        self._stack.append(_Level(self._place(), True, len(self.found), event.anchor))

    def _SequenceStartEvent(self, event: Any) -> None:
        self._stack.append(_Level(self._place(), False, len(self.found), event.anchor))

    def _MappingEndEvent(self, event: Any) -> None:
        level = self._stack.pop()
        if level.anchor:
            own = self.found[level.first :]
            self._anchors[level.anchor] = [leaf._replace(path=leaf.path[len(level.path) :].strip(".")) for leaf in own]

    _SequenceEndEvent = _MappingEndEvent

    def _place(self) -> str:
        """Return the path of the value that comes now."""
        if not self._stack:
            return ""
        level = self._stack[-1]
        if level.wants_key:
            raise Unread  # a key that is no plain word
        if level.is_mapping:
            level.wants_key = True
        else:
            level.key, level.count = str(level.count), level.count + 1
        return (level.path + "." + level.key).strip(".")


class _Level:
    def __init__(self, path: str, is_mapping: bool, first: int, anchor: str | None) -> None:
        self.path, self.is_mapping, self.first, self.anchor = path, is_mapping, first, anchor
        self.key, self.count, self.wants_key = "", 0, is_mapping


def _unmerged(leaves: list[Leaf]) -> list[Leaf]:
    """Return the leaves with merged mappings (`<<`) put in their places, under what stands there itself."""
    own = {leaf.path for leaf in leaves}
    made = []
    for leaf in leaves:
        path = re.sub(r"(?:^|\.)<<(?:\.\d+)?(?=\.|$)", "", leaf.path).strip(".")
        if path == leaf.path or path not in own:
            made.append(leaf._replace(path=path))
    return made


def _of_toml(text: str) -> list[Leaf]:
    import tomllib

    leaves: list[Leaf] = []
    lines = _key_lines(text)
    waiting: list[tuple[str, Any, int]] = [("", tomllib.loads(text), 0)]
    while waiting:
        path, value, depth = waiting.pop()
        if depth > DEEPEST or len(leaves) > MOST_LEAVES:
            raise Unread
        if isinstance(value, (dict, list)):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((path + "." + str(key)).strip("."), inner, depth + 1) for key, inner in pairs]
        else:
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            leaves.append(Leaf(path, shown, lines.get(path.rsplit(".", 1)[-1], 0)))
    return leaves


def _key_lines(text: str) -> dict[str, int]:
    """Return the line of each key that stands there once, 0 of others."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        key = _KEY.match(line)
        if key:
            last = key[1].rsplit(".", 1)[-1].strip("\"' ")
            lines[last] = 0 if last in lines else number
    return lines


class Config(NamedTuple):
    """*package*: where Hydra puts it, as the file says, "" where it does not."""

    leaves: tuple[Leaf, ...]
    package: str


def _config(data: bytes, path: str) -> Config:
    match = _PACKAGE.search(data)
    return Config(tuple(leaves(data, path)), match[1].decode("utf-8", "replace") if match else "")


def _kept_config(kept: Any) -> Config:
    leaves, package = kept
    return Config(tuple(Leaf(_text(path), _maybe(value), _line(line)) for path, value, line in leaves), _text(package))


def _kept_packages(kept: Any) -> tuple[str, ...]:
    return tuple(_text(name) for name in kept)


def _kept_source(kept: Any) -> Source:
    declared, named, imports, local, hydra, parsed, trains, classes, keys = kept
    return Source(
        _declared(declared), _constants(named), _constants(imports),
        tuple((_line(dots), _text(name)) for dots, name in local),
        (_maybe(hydra[0]), _maybe(hydra[1])) if hydra is not None else None, tuple(_text(name) for name in parsed),
        _line(trains), {_text(name): _declared(own) for name, own in classes.items()},
        tuple(_text(key) for key in keys) if keys is not None else None,
    )  # fmt: skip


def _declared(kept: Any) -> tuple[Declared, ...]:
    return tuple(
        Declared(tuple(_text(flag) for flag in flags), _text(dest), _maybe(default), _line(line))
        for flags, dest, default, line in kept
    )


def _constants(kept: Any) -> tuple[Constant, ...]:
    return tuple(Constant(_text(name), _text(value), _line(line)) for name, value, line in kept)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)


def _line(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not a number")
    return value


SOURCE: Form[Source] = Form("source", lambda data, path: source(data), _kept_source)
CONFIG: Form[Config] = Form("config", _config, _kept_config)
PACKAGES: Form[tuple[str, ...]] = Form("packages", lambda data, path: tuple(packages(data, path)), _kept_packages)


# Which packages a program wants: requirements.txt, pyproject.toml, environment.yml.

_WANTED = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w, .-]*\])?[ \t]*((?:[~=!<>]=?=?[ \t]*[\w.*+!-]+[ \t]*,?[ \t]*)*)")
_PYPROJECT = re.compile(r"project\.dependencies\.\d+")
_ENVIRONMENT = re.compile(r"dependencies\.\d+(?:\.pip\.\d+)?")
MOST = 200


def packages(data: bytes, path: str) -> list[str]:
    """Return the packages with the versions that are asked for, such as `torch==2.4.0`, in their order.

    An address, a local path and an option of pip are left out.
    """
    if path.endswith(".toml"):
        lines = [leaf.value or "" for leaf in leaves(data, path) if _PYPROJECT.fullmatch(leaf.path)]
    elif path.endswith((".yml", ".yaml")):
        lines = [leaf.value or "" for leaf in leaves(data, path) if _ENVIRONMENT.fullmatch(leaf.path)]
    else:
        lines = data.decode("utf-8", "replace").splitlines()
    wanted = (_package(line) for line in lines[: 10 * MOST])
    return list(dict.fromkeys(package for package in wanted if package))[:MOST]


def _package(line: str) -> str:
    """Return the package of a line without marks, extras and comments; "" where it names none."""
    text = line[:300].split("#")[0].split(";")[0].split(" --")[0].strip()
    match = _WANTED.fullmatch(text)
    return match[1] + match[2].replace(" ", "").replace("\t", "") if match else ""
