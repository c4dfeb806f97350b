"""What a Slurm partition gives to jobs that ask for nothing: nobody typed it, so no option is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ....base import quantities
from .commands import Commands

_NAME = re.compile(r"\w[\w.-]{0,200}")
_NONE = ("", "NONE", "UNLIMITED", "0")
# A field of the job, and the fields of the partition that it comes from, the stronger first.
_FROM = {
    "TimeLimit": ("DefaultTime", "MaxTime"),
    "MinMemoryNode": ("DefMemPerNode",),
    "MinMemoryCPU": ("DefMemPerCPU",),
}


def asked(fields: Mapping[str, str], commands: Commands) -> dict[str, str]:
    """Return the fields of a job without those that hold its partition's default.

    Who typed the very default asked for nothing else, so the job is the same without the word.
    """
    name = fields.get("Partition", "")
    said = commands.ask("scontrol", ["show", "partition", "-o", name]) if _NAME.fullmatch(name) else None
    told = dict(re.findall(r"(\w+)=(\S+)", said.out)) if said is not None and not said.code else {}
    defaults = set(_same(fields, told))
    return {name: value for name, value in fields.items() if name not in defaults}


def _same(fields: Mapping[str, str], told: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the fields that hold a default."""
    for name, given_by in _FROM.items():
        default = next((told[one] for one in given_by if told.get(one, "") not in _NONE), "")
        if default and name in fields and _number(name, fields[name]) == _number(name, default):
            yield name


def _number(name: str, text: str) -> float | str:
    """Return a time in seconds or a memory in bytes; the text where it is neither."""
    found = quantities.printed(text) if name == "TimeLimit" else quantities.size(text, "m")
    return text if found is None else found
