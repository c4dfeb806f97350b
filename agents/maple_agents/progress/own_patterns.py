"""The pattern of a user's own format: one line of TOML, for the site or beside the script.

`[progress] pattern = "step (?P<step>[0-9]+)/(?P<total>[0-9]+)"` in `/etc/maple/progress.toml`, or in `maple.toml`
beside the script, beside the log, or here. Several are a list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Union

import tomllib
from maple_submit_filter.host import places

from ..base import tables
from ..base.complaint import Complaint
from .formats import Formats, formats

BESIDE, OF_SITE = "maple.toml", "progress.toml"
MOST_BYTES = 64 * 1024


class Patterns(tables.Table):
    """The table `[progress]`."""

    pattern: Union[str, list[str]] = []


def known(folders: Iterable[str]) -> Formats:
    """Return all formats with the own patterns of the site and of *folders* before them. Raises `Complaint`."""
    files = [os.path.join(one or ".", BESIDE) for one in folders] + [os.path.join(places.etc(), OF_SITE)]
    own: list[str] = []
    for path in dict.fromkeys(os.path.abspath(one) for one in files):
        own += _of_file(path)
    try:
        return formats(tuple(own))
    except ValueError as error:
        raise Complaint("[progress] pattern: %s" % str(error).split("\n")[0], "see man maple-progress") from error


def _of_file(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            source = file.read(MOST_BYTES)
    except OSError:
        return []
    try:
        table = tomllib.loads(source.decode("utf-8")).get("progress", {})
        found = Patterns.model_validate(table)
    except ValueError as error:
        raise Complaint("%s: [progress]: %s" % (path, str(error).split("\n")[0]), "see man maple-progress") from error
    patterns = [found.pattern] if isinstance(found.pattern, str) else found.pattern
    for one in patterns:
        try:
            formats((one,))
        except ValueError as error:
            raise Complaint("%s: [progress] pattern: %s" % (path, error), "see man maple-progress") from error
    return patterns
