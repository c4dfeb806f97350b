"""What was verified, as small files: written by the program alone, and believed only while nothing has changed.

A record names everything that its verdict depends on. When any of it is another now, the record is stale.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import state
from .workplace import miniapps

SCHEMA = 1
KEPT = 500  # records of one user; the oldest go


class Inputs(NamedTuple):
    """What a verdict depends on. *files*: what the plan has read from disk, by path, with the hash of each.

    *template* and *revision*: of a launch template, "" and 0 for a script of the user's.
    """

    script: str  # hash
    words: tuple[str, ...]
    site: str
    site_revision: str
    miniapps: str  # hash of all of them
    files: Mapping[str, str] = {}
    template: str = ""
    revision: int = 0


def stale(record: Mapping[str, Any], now: Inputs, frameworks: Mapping[str, str | None] | None = None) -> list[str]:
    """Return what has changed since the record was made, in words; [] while it holds.

    *frameworks*: their versions now, where they are known.
    """
    if record.get("schema") != SCHEMA:
        return ["the form of records"]
    then = record.get("inputs")
    if not isinstance(then, dict):
        return ["the form of records"]
    current = as_table(now)
    found = [_WORDS[name] for name in _WORDS if then.get(name) != current[name]]
    if frameworks is not None and record.get("frameworks") != dict(frameworks):
        found.append("the versions of the frameworks")
    return found


_WORDS = {
    "script": "the script",
    "words": "the words on the command line",
    "site": "the site",
    "site_revision": "the facts of the site",
    "miniapps": "the mini-apps",
    "files": "a file that the plan reads",
    "template": "the template",
    "revision": "the revision of the template",
}


def as_table(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs as they stand in a record."""
    return {**inputs._asdict(), "words": list(inputs.words), "files": dict(inputs.files)}


def digest(content: bytes) -> str:
    """Return the hash that stands for bytes."""
    return hashlib.sha256(content).hexdigest()


def of_miniapps() -> str:
    """Return the hash of all mini-apps, names and bytes."""
    folder, made = miniapps(), hashlib.sha256()
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".py")):
        with open(os.path.join(folder, name), "rb") as file:
            made.update(b"%s\0%s\0" % (name.encode(), hashlib.sha256(file.read()).digest()))
    return made.hexdigest()


def of_files(paths: Sequence[bytes]) -> dict[str, str]:
    """Return the hash of each file, "" for one that cannot be read."""
    found = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                found[os.fsdecode(path)] = digest(file.read())
        except (OSError, ValueError):
            found[os.fsdecode(path)] = ""
    return found


def save(record: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> str | None:
    """Keep a record and return its path; None where it cannot be kept, which harms nothing."""
    own = state.own(environ)
    if own is None:
        return None
    folder = os.path.join(own, "records")
    try:
        path = state.put(folder, f"{record['id']}.json", record)
        _forget(folder)
    except OSError:
        return None
    return path


def _forget(folder: str) -> None:
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    for name in names[: max(0, len(names) - KEPT)]:
        os.unlink(os.path.join(folder, name))


def load_all(environ: Mapping[str, str] = os.environ) -> list[dict[str, Any]]:
    """Return every record that can be read, the newest first."""
    found: dict[str, dict[str, Any]] = {}
    for folder in state.folders(environ):
        try:
            names = [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
        except OSError:
            continue
        for name in names:
            record = state.get(os.path.join(folder, name))
            if record is not None and record.get("schema") == SCHEMA:
                found.setdefault(str(record.get("id", name)), record)
    return sorted(found.values(), key=lambda record: str(record.get("made_at", "")), reverse=True)


def template_passed(
    site: str, site_revision: str, template: str, revision: int, environ: Mapping[str, str] = os.environ
) -> bool | None:
    """Return whether the last run of a launch template passed on this revision of a site; None where there is none.

    A record of other mini-apps, of another revision of the site or of the template does not count.
    """
    wanted = {
        "site": site, "site_revision": site_revision, "template": template, "revision": revision,
        "miniapps": of_miniapps(),
    }  # fmt: skip
    for record in load_all(environ):
        inputs = record.get("inputs")
        if isinstance(inputs, dict) and all(inputs.get(name) == value for name, value in wanted.items()):
            return record.get("result") == "passed"
    return None
