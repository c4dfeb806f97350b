"""What `scontrol show job` tells (22.05 and later): all of a job, its output with the signs of its name filled in.

scontrol shows one job, or all; given commands on stdin it shows several in one process. Its prompt stands on a line of
its own, or in front of the answer where it was built without readline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_HEAD = re.compile(r"^(?:scontrol: )*JobId=(\d+) ((?:\w+=\S+ )*?)JobName=", re.MULTILINE | re.ASCII)
_FIELD = re.compile(r"(\S+?)=(.*?)(?=\s+[\w/:]+=|\s*$)")
_PATHS = ("StdErr", "StdIn", "StdOut")
_COMMENTS = ("Comment", "AdminComment", "SystemComment")
_WHOLE = (*_PATHS, *_COMMENTS, "Command", "WorkDir", "SubmitLine")  # fields whose value is the rest of their line
_DETAILS = ("ExitCode", "BatchFlag", "Command", "WorkDir", *_PATHS)


class Record(NamedTuple):
    """A job as scontrol shows it. *id*: `5_2` for a task of an array, of which *number* is what %j stands for."""

    id: str
    number: str
    fields: dict[str, str]


def questions(ids: Iterable[str]) -> bytes:
    """Return what to give to scontrol's stdin to be shown *ids*, each of digits, `_` and `+`."""
    return "".join("show job %s\n" % one for one in ids).encode("ascii")


def answers(text: str, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return exit code, batch flag and paths of each job in *text* by its id.

    *names*: the job names that squeue gave. A job that is there twice is not believed.
    """
    found = records(text, names.values())
    seen = [one.id for one in found]
    kept = [one for one in found if seen.count(one.id) == 1]
    return {one.id: {name: one.fields[name] for name in _DETAILS if name in one.fields} for one in kept}


def records(text: str, names: Iterable[str]) -> list[Record]:
    """Return the jobs in *text*, with all their fields.

    A name and a comment are any text, line ends included, and may look like another job: the *names* of jobs are taken
    out as a whole.
    """
    for name in names:
        if "\n" in name:
            text = text.replace("JobName=%s\n   UserId=" % name, "JobName=\n   UserId=")
    heads = list(_HEAD.finditer(text))
    ends = [one.start() for one in heads[1:]] + [len(text)]  # one more than heads where there is none
    return [Record(_id(head), head[1], _fields(text[head.end() : end])) for head, end in zip(heads, ends)]


def _id(head: re.Match[str]) -> str:
    fields = dict(word.split("=", 1) for word in head[2].split())
    if "ArrayJobId" in fields:
        return "%s_%s" % (fields["ArrayJobId"], fields.get("ArrayTaskId", ""))
    if "HetJobId" in fields:
        return "%s+%s" % (fields["HetJobId"], fields.get("HetJobOffset", ""))
    return head[1]


def _fields(record: str) -> dict[str, str]:
    """Return the fields of one record. Comments stand behind what is believed here, of which the first counts, and
    before the paths, of which the last does.
    """
    fields: dict[str, str] = {}
    for line in record.split("\n")[1:]:
        name, sign, value = line.lstrip(" ").partition("=")
        if not line.startswith("   ") or not sign:
            continue
        if name in _PATHS:
            fields[name] = value
        elif name in _WHOLE:
            fields.setdefault(name, value)
        else:
            for found in _FIELD.finditer(line.strip()):
                fields.setdefault(found[1], found[2])
    return fields
