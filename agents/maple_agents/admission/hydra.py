"""A Hydra configuration put together: primary config, its defaults list, the command's overrides."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .extracts import CONFIG, Leaf
from .user_files import Files

DEEPEST = 8  # configs that name configs
MOST_LAID = 200  # configs, each time it is named
_ITEM = re.compile(r"defaults\.(\d+)(?:\.(.+))?")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")


class Setting(NamedTuple):
    """A value with its file. *value* None: two files say different things, and their order is not known."""

    path: str
    value: str | None
    file: str
    line: int


class Composed(NamedTuple):
    """*settings* by path; *groups*: the names of config groups, whose overrides name a file."""

    settings: tuple[Setting, ...]
    groups: frozenset[str]


class _Item(NamedTuple):
    """An entry of a defaults list: a config of a group, or "" for one without; *own*: `_self_`."""

    group: str
    config: str
    package: str
    own: bool = False


def composed(folder: str, primary: str, overrides: Mapping[str, str | None], files: Files) -> Composed:
    """Return the configuration; () where the primary config cannot be read.

    *overrides*: what the command says of groups; None: it is not known. A config that names itself is read once.
    """
    made = _Composer(folder, overrides, files)
    made.add("", primary, "", 0, ())
    if made.overridden:  # a config may choose for groups that were read before it; the command chooses over all
        made = _Composer(folder, {**made.overridden, **overrides}, files)
        made.add("", primary, "", 0, ())
    return Composed(tuple(_resolved(made.settings)), frozenset(made.groups))


class _Composer:
    def __init__(self, folder: str, overrides: Mapping[str, str | None], files: Files) -> None:
        self._folder, self._overrides, self._files = folder, overrides, files
        self.settings: dict[str, Setting] = {}
        self._laid = 0
        self.groups: set[str] = set()
        self.overridden: dict[str, str | None] = {}

    def add(self, group: str, config: str, package: str, depth: int, above: Sequence[str]) -> None:
        """Lay one config over what there is, after the configs that it names."""
        path = self._path(group, config)
        self._laid += 1
        allowed = depth <= DEEPEST and self._laid <= MOST_LAID and path not in above
        extract = self._files.extracted(path, "config", CONFIG) if allowed else None
        if extract is None:
            return
        leaves, package = extract.leaves, _package(extract.package, package)
        self.overridden.update(_overridden(leaves, group))
        items = _items(leaves) if depth else [*_items(leaves), *self._added(_items(leaves))]
        known = any(item.own for item in items) or not items
        own = [leaf for leaf in leaves if not leaf.path.startswith(("defaults", "hydra."))]
        for item in items[:MOST_LAID]:
            if item.own:
                self._lay(own, package, path, True)
                continue
            chosen = self._chosen(item, group)
            if chosen:
                place = item.package or ".".join(filter(None, (package, item.group.replace("/", "."))))
                inner = os.path.join(group, item.group) if item.group[:1] != "/" else item.group[1:]
                self.add(inner, chosen, "" if place == "_global_" else place, depth + 1, (*above, path))
        if not any(item.own for item in items):
            self._lay(own, package, path, known)

    def _added(self, items: Sequence[_Item]) -> list[_Item]:
        """Return the groups that the command adds to the defaults list: `+experiment=large`."""
        listed = {item.group.strip("/") for item in items}
        new = [(name, config) for name, config in self._overrides.items() if config and name not in listed]
        return [_Item(name, config, "") for name, config in new if self._files.is_there(self._path(name, config))]

    def _path(self, group: str, config: str) -> str:
        name = config if config.endswith((".yaml", ".yml")) else config + ".yaml"
        return os.path.normpath(os.path.join(self._folder, group, name.lstrip("/")))

    def _chosen(self, item: _Item, group: str) -> str:
        """Return the config of a group that the command or the list chooses, "" none, or not known."""
        name = os.path.join(group, item.group).strip("/")
        if item.group:
            self.groups.add(name)
        chosen = self._overrides.get(name, item.config) if item.group else item.config
        return "" if chosen is None or chosen == "null" or "${" in chosen or "," in chosen else chosen

    def _lay(self, leaves: Sequence[Leaf], package: str, path: str, known: bool) -> None:
        """Lay values over others; where the order is not known, what differs is unknown."""
        for leaf in leaves:
            at = ".".join(filter(None, (package, leaf.path)))
            before = self.settings.get(at)
            value = leaf.value if known or before is None or before.value == leaf.value else None
            self.settings[at] = Setting(at, value, path, leaf.line)


def _overridden(leaves: Sequence[Leaf], group: str) -> dict[str, str | None]:
    """Return what a config chooses for groups of others: `override /model: large`."""
    made = {}
    for leaf in leaves:
        entry = _ITEM.fullmatch(leaf.path)
        if entry and (entry[2] or "").startswith("override "):
            name = entry[2].removeprefix("override ").strip().partition("@")[0]
            made[name[1:] if name.startswith("/") else os.path.join(group, name)] = leaf.value
    return made


def _items(leaves: Sequence[Leaf]) -> list[_Item]:
    made = []
    for leaf in leaves:
        entry = _ITEM.fullmatch(leaf.path)
        if entry is None or leaf.value is None:
            continue
        key = re.sub(r"^(?:optional|override)\s+", "", entry[2] or "")
        if key.startswith(("hydra/", "/hydra/")) or (entry[2] or "").startswith("override "):
            continue
        group, _, package = key.partition("@")
        made.append(_Item(group, leaf.value, package, not key and leaf.value == "_self_"))
    return made


def _package(stated: str, given: str) -> str:
    return given if not stated or stated == "_group_" else "" if stated == "_global_" else stated


def _resolved(settings: Mapping[str, Setting]) -> list[Setting]:
    """Return the settings, a value that is another's (`${model.name}`) put in; any other reference is unknown."""
    made = []
    for setting in settings.values():
        reference = _REFERENCE.fullmatch(setting.value or "")
        other = settings.get(reference[1]) if reference else None
        value = other.value if other is not None else setting.value
        made.append(setting._replace(value=None if value is not None and "${" in value else value))
    return made
