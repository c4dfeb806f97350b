"""What only `scontrol show job` tells (22.05): exit code, and where the output is with every sign filled in.

scontrol shows one job, or all; given commands on stdin it shows several in one process. Its prompt stands on a line of
its own, or in front of the answer where it was built without readline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_HEAD = re.compile(r"^(?:scontrol: )*JobId=(\d+) ((?:\w+=\S+ )*?)JobName=", re.MULTILINE | re.ASCII)
_WHOLE = ("StdErr", "StdIn", "StdOut", "Command", "WorkDir")  # fields whose value is the rest of their line
_EXIT = re.compile(r"   Requeue=.* ExitCode=(\d+:\d+)$", re.ASCII)


def questions(ids: Iterable[str]) -> bytes:
    """Return what to give to scontrol's stdin to be shown *ids*, each of digits, `_` and `+`."""
    return "".join("show job %s\n" % one for one in ids).encode("ascii")


def answers(text: str, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the fields of each job in *text* by its id (`5_2` for a task of an array).

    *names*: the job names that squeue gave. A name and a comment are any text, line ends included, and may look like
    another job: names are taken out as a whole, and a job that is there twice is not believed.
    """
    for name in names.values():
        if "\n" in name:
            text = text.replace("JobName=%s\n   UserId=" % name, "JobName=\n   UserId=")
    heads = list(_HEAD.finditer(text))
    ends = [one.start() for one in heads[1:]] + [len(text)]  # one more than heads where there is none
    records = [(_id(head), text[head.end() : end]) for head, end in zip(heads, ends)]
    seen = [job_id for job_id, _ in records]
    return {job_id: _fields(record) for job_id, record in records if seen.count(job_id) == 1}


def _id(head: re.Match[str]) -> str:
    fields = dict(word.split("=", 1) for word in head[2].split())
    if "ArrayJobId" in fields:
        return "%s_%s" % (fields["ArrayJobId"], fields.get("ArrayTaskId", ""))
    if "HetJobId" in fields:
        return "%s+%s" % (fields["HetJobId"], fields.get("HetJobOffset", ""))
    return head[1]


def _fields(record: str) -> dict[str, str]:
    """Return the fields of one record. A comment stands after the exit code and before the paths."""
    fields: dict[str, str] = {}
    for line in record.splitlines():
        name, sign, value = line.removeprefix("   ").partition("=")
        if sign and line.startswith("   ") and name in _WHOLE:
            fields[name] = value
        exit_code = _EXIT.match(line)
        if exit_code:
            fields.setdefault("ExitCode", exit_code[1])
    return fields
