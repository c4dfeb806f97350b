"""What clusters and their centres are called, by the heads of the site files."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import NamedTuple

import tomllib
from maple_submit_filter.host import places


class SiteNames(NamedTuple):
    """The names of a cluster. *id*: of its site file."""

    id: str
    name: str
    center: str = ""
    aliases: tuple[str, ...] = ()


@cache
def of_files() -> tuple[SiteNames, ...]:
    """Return the names in every site file in force. Only the head of a file is read: the tables are not needed."""
    found: dict[str, SiteNames] = {}
    for folder in places.folders("site_configs"):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".toml") and name not in ("example.toml", "generic-slurm.toml", "generic-pbs.toml"):
                one = _head(os.path.join(folder, name))
                if one is not None:
                    found.setdefault(one.id, one)
    return tuple(found.values())


def _head(path: str) -> SiteNames | None:
    try:
        with open(path, encoding="utf-8") as file:
            table = tomllib.loads(re.split(r"(?m)^\[", file.read(20000), maxsplit=1)[0])
        return SiteNames(table["id"], table["name"], table.get("center", ""), tuple(table.get("aliases", ())))
    except (OSError, ValueError, KeyError):
        return None


@cache
def centers() -> frozenset[str]:
    """Return the words that centres go by: ncsa, tacc, purdue."""
    return frozenset(one.center.split()[0].lower() for one in of_files() if one.center)
