"""What was verified, as small files: written by the program alone, and believed only while nothing has changed.

A record names everything that its verdict depends on. When any of it is another now, the record is stale.

The folders in which verifications are remembered: the user's own state folder, and the site's.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from maple_submit_filter.answer.report import printable
from maple_submit_filter.host import own_folders, places
from maple_submit_filter.site.facts import LaunchTemplate, Site

SITE_FOLDER = "verified"  # below /etc/maple: records that an administrator has put there for everybody

SCHEMA = 1
KEPT = 500  # records of one user; the oldest go


class Inputs(NamedTuple):
    """What a verdict depends on. *files*: what the plan has read from disk, by path, with the hash of each.

    *template* and *revision*: of a launch template or a paradigm, "" and 0 for a script of the user's. *composition*:
    the hash of the parts that a paradigm's script was made of, else "".
    """

    script: str  # hash
    words: tuple[str, ...]
    site: str
    site_revision: str
    miniapps: str  # hash of all of them
    files: Mapping[str, str] = {}
    template: str = ""
    revision: int = 0
    composition: str = ""


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
    changes = [word for name, word in _WORDS.items() if _recorded(then, name) != current[name]]
    if frameworks is not None and record.get("frameworks") != dict(frameworks):
        changes.append("the versions of the frameworks")
    return changes


_WORDS = {
    "script": "the script",
    "words": "the words on the command line",
    "site": "the site",
    "site_revision": "the facts of the site",
    "miniapps": "the mini-apps",
    "files": "a file that the plan reads",
    "template": "the template",
    "revision": "the revision of the template",
    "composition": "a part that the script is made of",
}


def _recorded(inputs: Mapping[str, Any], name: str) -> Any:
    """Return what a record says; one that was made before there was such an input says nothing else."""
    return inputs.get(name, Inputs._field_defaults.get(name))


def as_table(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs as they stand in a record."""
    return {**inputs._asdict(), "words": list(inputs.words), "files": dict(inputs.files)}


def digest(content: bytes) -> str:
    """Return the hash that stands for bytes."""
    return hashlib.sha256(content).hexdigest()


def of_files(paths: Sequence[bytes]) -> dict[str, str]:
    """Return the hash of each file, "" for one that cannot be read."""
    hashes = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                hashes[os.fsdecode(path)] = digest(file.read())
        except (OSError, ValueError):
            hashes[os.fsdecode(path)] = ""
    return hashes


def save(record: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> str | None:
    """Keep a record and return its path; None where it cannot be kept, which harms nothing."""
    own = own_folder(environ)
    if own is None:
        return None
    folder = os.path.join(own, "records")
    try:
        path = write_value(folder, f"{record['id']}.json", record)
        inputs = record["inputs"]
        if inputs["template"]:
            write_value(os.path.join(own, "templates"), f"{inputs['site']}--{inputs['template']}.json", record)
        _forget(folder)
    except OSError:
        return None
    return path


def _forget(folder: str) -> None:
    names = names_in(folder)
    for name in names[: max(0, len(names) - KEPT)]:
        os.unlink(os.path.join(folder, name))


def load_all(environ: Mapping[str, str] = os.environ) -> list[dict[str, Any]]:
    """Return every record of the user's that can be read, the newest first."""
    own = own_folder(environ)
    folder = os.path.join(own, "records") if own else ""
    records = [record for name in names_in(folder) if (record := _read(os.path.join(folder, name))) is not None]
    return sorted(records, key=lambda record: str(record.get("made_at", "")), reverse=True)


def of_template(site: str, template: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    """Return the last record of a launch template on a site, None where there is none.

    The site's own folder, which everybody may read, counts before the user's.
    """
    for folder in of_templates(environ):
        record = _read(os.path.join(folder, f"{site}--{template}.json"))
        if record is not None:
            return record
    return None


def _read(path: str) -> dict[str, Any] | None:
    record = read_value(path)
    return record if record is not None and record.get("schema") == SCHEMA else None


def with_records(site: Site, environ: Mapping[str, str] = os.environ) -> Site:
    """Return the site with each launch template verified or not as its last record says.

    A record of another revision of the site or of the template, or of other mini-apps, says nothing, and neither does
    `probe`, whose ranks do not meet.
    """
    made = tuple(
        launch_template._replace(verified=_verified(site, launch_template, environ))
        for launch_template in site.launch_templates
    )
    return site if made == site.launch_templates else site._replace(launch_templates=made)


def _verified(site: Site, launch_template: LaunchTemplate, environ: Mapping[str, str]) -> bool:
    record = of_template(site.id, launch_template.name, environ)
    inputs = record.get("inputs") if record is not None else None
    if record is None or not isinstance(inputs, dict):
        return launch_template.verified
    holds = not _changed(inputs, site, launch_template.revision, "") and record.get("miniapps") != ["probe"]
    return record.get("result") == "passed" if holds else launch_template.verified


def _changed(inputs: Mapping[str, Any], site: Site, revision: int, composition: str) -> list[str]:
    """Return what is another now for a template or paradigm, in words; which words the job was given does not count."""
    now = {
        "site_revision": site.revision,
        "revision": revision,
        "composition": composition,
        "miniapps": miniapps_digest(),
    }
    return [_WORDS[name] for name, value in now.items() if _recorded(inputs, name) != value]


def outdated(
    site: Site, template: str, revision: int, composition: str = "", environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return why a launch template or paradigm has to be verified again; [] while its last record holds and passed."""
    record = of_template(site.id, template, environ)
    inputs = record.get("inputs") if record is not None else None
    if record is None or not isinstance(inputs, dict):
        return ["it has no record here"]
    changed = _changed(inputs, site, revision, composition)
    why = ["changed since then: " + ", ".join(changed)] if changed else []
    if record.get("miniapps") == ["probe"]:
        why.append("only probe ran, whose ranks do not meet")
    if record.get("result") != "passed":
        why.append("it did not pass the last time")
    return why


# Why a script cannot be verified: one exception.


class CannotVerify(Exception):
    """One line: what is in the way and where; *remedy* says what to do."""

    def __init__(self, says: str, remedy: str = "") -> None:
        self.says, self.remedy = says, remedy
        super().__init__(printable(says + (f"; {remedy}" if remedy else "")))


class Interrupted(BaseException):
    """A signal asked us to end; no `Exception`, so that nothing takes it for a failure to be dealt with."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"signal {number}")


# Where the mini-apps lie, and the hash that stands for all of them. They are copied, and never imported.


def miniapps_folder() -> str:
    """Return the folder of the mini-apps. Raises `CannotVerify` where they are not installed."""
    spec = importlib.util.find_spec("maple_miniapps")
    if spec is None or not spec.origin:
        raise CannotVerify("the mini-apps are not installed", "install all of maple-hpc")
    return os.path.dirname(os.path.abspath(spec.origin))


def miniapps_digest() -> str:
    """Return the hash of all mini-apps, names and bytes."""
    where, made = miniapps_folder(), hashlib.sha256()
    for name in sorted(name for name in os.listdir(where) if name.endswith(".py")):
        with open(os.path.join(where, name), "rb") as file:
            made.update(b"%s\0%s\0" % (name.encode(), hashlib.sha256(file.read()).digest()))
    return made.hexdigest()


def own_folder(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's folder for verifications, which may not be there yet; None where there is no home."""
    state = own_folders.state(environ)
    return os.path.join(state, "verify") if state else None


def of_templates(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the folders that may hold records of launch templates, the site's first."""
    mine = own_folder(environ)
    return [*places.folders(SITE_FOLDER, environ), *([os.path.join(mine, "templates")] if mine else [])]


def names_in(folder: str) -> list[str]:
    """Return the names of the JSON files in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return []


def write_value(folder: str, name: str, value: Mapping[str, Any]) -> str:
    """Write a JSON file, whole or not at all, and return its path. Raises `OSError`."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path, new = os.path.join(folder, name), os.path.join(folder, f".{name}.{os.urandom(3).hex()}")
    try:
        with open(new, "x", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(new, path)
    except BaseException:
        if os.path.lexists(new):
            os.unlink(new)
        raise
    return path


def read_value(path: str, most: int = 1 << 20) -> dict[str, Any] | None:
    """Return the table in a JSON file, None where there is none or it is no table."""
    try:
        with open(path, "rb") as file:
            table = json.loads(file.read(most))
    except (OSError, ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None
