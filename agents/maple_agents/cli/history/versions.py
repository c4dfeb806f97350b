"""A job's history as values: what changed from version to version, and what was read again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Optional

import click
from maple_submit_filter.answer.report import printable

from ...base.output import text, unified

if TYPE_CHECKING:
    from maple_submit_filter.types.job_records import Part, Record, Version

FILES = ("program", "config", "requirements")


def changed(version: "Version", parent: "Optional[Version]") -> tuple[str, ...]:
    """Return what is not as in the parent: kinds of parts, names of files; () for a first version."""
    if parent is None:
        return ()
    was, now = _hashes(parent, version), _hashes(version, parent)
    return tuple(dict.fromkeys(_name(*key) for key in (*now, *was) if was.get(key) != now.get(key)))


def _hashes(version: "Version", other: "Version") -> dict[tuple[str, str], str]:
    """Return the parts of *version* that can be compared: where nobody has read the other's files, not its files."""
    files = all(any(part.kind in FILES for part in each.parts) for each in (version, other))
    return {(part.kind, part.name): part.hash for part in version.parts if files or part.kind not in FILES}


def diff(version: "Version", parent: "Optional[Version]") -> str:
    """Return the unified difference to the parent's script, "" where there is none, or one of both is not known."""
    if parent is None or not parent.script or not version.script:
        return ""
    return unified(parent.script, version.script, name_of(version))


def state(part: "Part", version: "Version", parent: "Optional[Version]") -> str:
    """Return how the values of a part came: "known", "changed", "above" (it is the same, what bash sees before is not).

    "new": read for a version that has no parent. "anew": of a file that is as it was, because more was to be known.
    """
    same = parent is not None and any(other.hash == part.hash for other in parent.parts)
    if part.hash not in version.read.split():
        return "known"
    if parent is None:
        return "new"
    if same and part.kind in FILES:
        return "anew"
    return "above" if same else "changed"


def label(part: "Part") -> str:
    """Return what a part is called."""
    return _name(part.kind, part.name)


def name_of(version: "Version") -> str:
    """Return the script's name as people call it."""
    return os.path.basename(version.path) or version.name


def words(version: "Version") -> str:
    """Return the words of the submit command."""
    return " ".join(text(word.encode("utf-8", "surrogateescape")) for word in version.argv)


def _name(kind: str, name: str) -> str:
    called = {"argv": "command line", "variables": "variables of the command"}
    return os.path.basename(name) if name else called.get(kind, kind)


def submitted(
    record: "Record", version: "Optional[Version]", decided: Optional[dict[str, Any]]
) -> tuple[bytes, list[str]]:
    """Return script and words that were handed over, secrets masked; b"" for a script that is not kept."""
    if version is None:
        return b"", []
    from maple_agents.ask.memory.versions import HANDED_OVER

    new = (decided or {}).get(HANDED_OVER.get(record.verdict, ""))
    if new:
        return new["script"].encode("utf-8", "surrogateescape"), list(new["argv"])
    return version.script, list(version.argv)


class Unanswered(click.ClickException):
    """Ends a command with exit code 3 and one line on stderr."""

    exit_code = 3


@contextmanager
def asked_of_service() -> Iterator[None]:
    """Turn what the service cannot do into one line."""
    from maple_agents.ask.memory.service import NoService, Refused

    try:
        yield
    except (NoService, Refused) as error:
        raise Unanswered(printable(str(error))) from None
    except (KeyError, TypeError, AttributeError) as error:
        what = "the service's answer was not understood (%s); service and command may be of different releases" % error
        raise Unanswered(printable(what)) from None
