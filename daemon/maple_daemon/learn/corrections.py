"""What changed jobs came to over all users, and what an administrator makes of it: a revision of a template.

Nothing here knows a user: the store gives sums, and only of what enough users have in common. What is written is the
template's own text with another revision, the administrator's reason, and the numbers.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import tempfile
from typing import NamedTuple

from maple_agents.ask.sites import launch_templates as templates
from maple_agents.base import tables
from maple_submit_filter.host import places
from maple_submit_filter.site.facts import Site

from ..store.protocol import Candidate

_TEMPLATE = re.compile(r"([a-z0-9-]+) revision (\d+)")
_REVISION = re.compile(rb"(?m)^(revision\s*=\s*)\d+")


class Refused(ValueError):
    """There is nothing to approve: one line; *remedy*: what to do."""

    def __init__(self, wrong: str, remedy: str) -> None:
        super().__init__(wrong)
        self.remedy = remedy


class Approval(NamedTuple):
    """*on*: the day. *reason*: the administrator's, one line."""

    site: Site
    reason: str
    on: datetime.date


def concerns(candidate: Candidate) -> str:
    """Return what a candidate speaks of: "template", "site" (a key of its file) or "rule"."""
    return "template" if _TEMPLATE.fullmatch(candidate.fact) else "site" if candidate.fact else "rule"


def chosen(candidates: list[Candidate], name: str) -> Candidate:
    """Return the candidate that is the template of that name, in the revision in force. Raises `Refused`."""
    runs = [
        candidate for candidate in candidates if (match := _TEMPLATE.fullmatch(candidate.fact)) and match[1] == name
    ]
    path = tables.paths(templates.KIND).get(name)
    if not runs or path is None:
        raise Refused("%s: no template of this name is a candidate" % name, "see `maple admin corrections list`")
    now = "%s revision %d" % (name, _read(path).revision)
    current = [candidate for candidate in runs if candidate.fact == now]
    if not current:
        raise Refused("%s is in force now; the jobs had %s" % (now, runs[0].fact), "wait for jobs that have it")
    if current[0].failed * 2 > current[0].ran:
        tried = current[0].ran, current[0].failed
        raise Refused("%s: %d jobs ran with it, %d failed at launch" % (name, *tried), "look at the template first")
    return current[0]


def revised(source: bytes, candidate: Candidate, approval: Approval) -> bytes:
    """Return a template with its revision raised and a run at this site told, its other bytes as they were."""
    match = _REVISION.search(source)
    if match is None or source.count(b"[[verified]]") + 1 > 1000:
        raise Refused("%s: its revision stands on no line of its own" % candidate.fact, "write it as `revision = 3`")
    revision = int(source[match.end(1) : match.end()]) + 1
    why = "# Revision %d, %s: %s (%s)\n" % (revision, approval.on, _line(approval.reason), _numbers(candidate))
    run = {"site": approval.site.id, "site_revision": approval.site.revision, "by": "jobs", "result": "passed"}
    verified = "".join("%s = %s\n" % (key, json.dumps(value)) for key, value in run.items())
    tail = "\n[[verified]]\n%srevision = %d\non = %s\n" % (verified, revision, approval.on)
    head = source[: match.start()] + b"%s%d" % (match[1], revision) + source[match.end() :]
    return why.encode() + head + (b"" if head.endswith(b"\n") else b"\n") + tail.encode()


def write(name: str, candidate: Candidate, approval: Approval) -> str:
    """Write the template's next revision among the site's own, and return its path. Raises `Refused` and `OSError`.

    What the repository's own check finds wrong with it is not left there.
    """
    from maple_agents.templates import lint

    with open(tables.paths(templates.KIND)[name], "rb") as file:
        source = file.read()
    folder = os.path.join(places.etc(), templates.FOLDER)
    os.makedirs(folder, 0o755, exist_ok=True)
    path = os.path.join(folder, name + ".toml")
    before, wrong = _there(path), set(lint.mistakes())
    made = revised(source, candidate, approval)
    templates.parse(made, path)
    _put(path, made)
    new = [line for line in lint.mistakes() if line not in wrong]
    if new:
        _back(path, before)
        raise Refused("%s: would be wrong: %s" % (path, new[0]), "nothing was changed")
    return path


def _read(path: str) -> templates.LaunchFile:
    with open(path, "rb") as file:
        return templates.parse(file.read(), path)


def _numbers(candidate: Candidate) -> str:
    return "%d jobs of %d users ran with %s, %d failed at launch" % (
        candidate.ran,
        candidate.users,
        candidate.fact,
        candidate.failed,
    )


def _line(text: str) -> str:
    """Return a text that ends no comment."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:300]


def _there(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _back(path: str, before: bytes | None) -> None:
    if before is None:
        os.unlink(path)
    else:
        _put(path, before)


def _put(path: str, content: bytes) -> None:
    """Put a file in its place, whole."""
    draft, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".", suffix=".new")
    try:
        with os.fdopen(draft, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
