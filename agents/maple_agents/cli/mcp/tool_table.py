"""The tools: what each takes, and the words of `maple` that it stands for. No value can become an option of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from maple_submit_filter.types.job_records import STATES

from ...base.complaint import Complaint
from ...base.slots import NAMES

Given = Mapping[str, Any]  # checked against the tool's schema before


class Call(NamedTuple):
    """Words behind `maple`, and what it reads on standard input."""

    words: tuple[str, ...]
    stdin: str = ""


class Tool(NamedTuple):
    """A command as a tool. *takes*: the schemas of its arguments; *writes*: those that make files, by leave only."""

    name: str
    says: str
    takes: Mapping[str, Given]
    call: Callable[[Given], Call]
    needs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def schema(self, may_write: bool) -> dict[str, object]:
        """Return the JSON schema of its arguments; without leave to write those that write are not there."""
        takes = {name: kind for name, kind in self.takes.items() if may_write or name not in self.writes}
        return {"type": "object", "properties": takes, "required": list(self.needs), "additionalProperties": False}


def text(says: str, pattern: str = "") -> dict[str, object]:
    """Return the schema of a text without a NUL, which no command line can hold."""
    return {"type": "string", "description": says, "pattern": pattern or r"^[^\u0000]*$"}


PATH = r"^[^\u0000]+$"
OPTIONS = {
    "type": "array",
    "description": 'Options before the script on the command line, as ["--nodes=4"]; the first begins with -.',
    "items": {"type": "string", "pattern": PATH},
}
SITE = text("Id of the cluster, where it is not the one we are on (as ncsa-delta).", r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
SCRIPT: dict[str, Given] = {
    "script": text("The batch script itself; or say path."),
    "path": text("The file of the batch script; or say script.", PATH),
    "site": SITE,
    "options": OPTIONS,
}
PATHS = {"type": "array", "items": {"type": "string", "pattern": PATH}}
JOB = r"^(last|[0-9][0-9A-Za-z_.\[\]-]*)$"


def _file(path: str) -> str:
    """Return a path as a word that is no option; refuse what may have no end: a pipe, a device."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise Complaint("%s: is no regular file" % path, "name a batch script")
    return os.path.join(".", path) if path.startswith("-") else path


def _option(name: str, value: object) -> tuple[str, ...]:
    return () if value is None else (f"--{name}={value}",)


def _behind(given: Given) -> tuple[str, ...]:
    """Return the scheduler's options as `maple` takes them."""
    options = tuple(given.get("options", ()))
    if options and not options[0].startswith("-"):
        raise Complaint("options: the first begins with -", 'say ["--nodes=4"]')
    return ("--", *options) if options else ()


def _of_script(command: str) -> Callable[[Given], Call]:
    def call(given: Given) -> Call:
        if ("script" in given) == ("path" in given):
            raise Complaint("say script or path", "one of them")
        name = "-" if "script" in given else _file(given["path"])
        return Call((command, "--json", *_option("site", given.get("site")), name, *_behind(given)),
                    given.get("script", ""))  # fmt: skip

    return call


def _new(given: Given) -> Call:
    sets = [word for slot, value in given.get("slots", {}).items() for word in _option("set", f"{slot}={value}")]
    if "script" in given and "path" in given:
        raise Complaint("say script or path", "one of them")
    source = "-" if "script" in given else _file(given["path"]) if "path" in given else None
    output = _file(given["output"]) if "output" in given else None
    words = ("new", "--json", *_option("site", given.get("site")), *sets, *_option("from", source))
    asked = ("--", given["request"]) if given.get("request") else ()
    return Call((*words, *_option("output", output), *asked), given.get("script", ""))


def _fix(given: Given) -> Call:
    logs = [word for path in given.get("logs", ()) for word in _option("log", path)]
    names = {"path": "script", "site": "site", "state": "state", "exit_code": "exit-code"}
    named = {**given, "path": _file(given["path"])} if "path" in given else given
    options = [word for name, option in names.items() for word in _option(option, named.get(name))]
    job = (given["job"],) if "job" in given else ()
    behind = _behind(given)
    if behind and not job:
        raise Complaint("options want a job", "say job as well")
    return Call(("fix", "--json", *logs, *options, *(["--apply"] if given.get("apply") else []), *job, *behind))


def _progress(given: Given) -> Call:
    logs = [word for path in given.get("logs", ()) for word in _option("log", path)]
    return Call(("progress", "--json", *logs, *((given["job"],) if "job" in given else ())))


def _history(given: Given) -> Call:
    return Call(("history", "--json", *_option("limit", given.get("limit")), "--", *filter(None, [given.get("job")])))


TOOLS = (
    Tool(
        "check",
        "Say what is wrong with a batch script of Slurm or PBS, which processes it would start, and what would be "
        "submitted in its place. Submits nothing.",
        SCRIPT,
        _of_script("check"),
    ),
    Tool(
        "plan",
        "Say which processes a batch script would start: nodes, ranks, worlds, masters and GPUs of each.",
        SCRIPT,
        _of_script("plan"),
    ),
    Tool(
        "new",
        "Write a batch script for a cluster from words, or from another cluster's script. What is missing is listed "
        "and nothing is invented: ask the person, and call again with slots.",
        {
            "request": text("What to run, in words: 'train.py with DDP on 2 nodes, 1 hour, account abc'."),
            "script": text("A script of another cluster, to be carried to this one."),
            "path": text("The file of such a script.", PATH),
            "site": SITE,
            "slots": {
                "type": "object",
                "description": "Values that override the request: " + ", ".join(NAMES) + ".",
                "propertyNames": {"enum": list(NAMES)},
                "additionalProperties": {"type": ["string", "integer"], "pattern": PATH},
            },
            "output": text("Write it to this new file; nothing is overwritten.", PATH),
        },
        _new,
        writes=("output",),
    ),
    Tool(
        "fix",
        "Say why a job failed: the first cause, the line of its log that proves it, and the fix as a diff. Submits "
        "nothing.",
        {
            "job": text('The job\'s id, or "last" for the last that failed.', JOB),
            "logs": {**PATHS, "description": "Logs to read: files, or folders of them."},
            "path": text("The file of the batch script that was submitted.", PATH),
            "site": SITE,
            "state": {"type": "string", "enum": list(STATES), "description": "How it ended, where nobody knows."},
            "exit_code": {"type": "integer", "minimum": -99, "maximum": 511, "description": "Its exit code."},
            "options": OPTIONS,
            "apply": {"type": "boolean", "description": "Write the fixed copy, NAME.maple.sh, beside the script."},
        },
        _fix,
        writes=("apply",),
    ),
    Tool(
        "progress",
        "Say how far a job is, how fast, when it will be done, and what is odd. Without arguments: all running jobs.",
        {
            "job": text("The job's id.", JOB),
            "logs": {**PATHS, "description": "Logs to read in its place."},
        },
        _progress,
    ),
    Tool(
        "history",
        "Show the versions of the person's own jobs: what changed from one to the next, and how each ended.",
        {
            "job": text("Name of a job or its script, a job's id, or last; without it all jobs are listed."),
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many versions or jobs."},
        },
        _history,
    ),
)
