"""The cases of typed fixes: `tests/agents/debug/fixes/*.toml`, one table for each.

`how`, `give`: the fix and its arguments; `caught`: what a log named; `log`: its line; `script`; perhaps `scheduler`,
`site`, `words` (of the submit command, before the script), `environment`, `ended`. Expected: `diff`, the lines that go
and come, in order; `argv`, the submit command's words; `refused`, a part of why it is not offered; `held`, rules that
it would break. None of them: the fix cannot be made.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tomllib
from maple_agents.ask import sites
from maple_agents.diagnose.fix.treatment import tried
from maple_agents.diagnose.recognise.log_facts import facts
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Digest, Ended, Evidence
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixes")
NOTHING = Ended()


@dataclass(frozen=True)
class FixCase:
    """A case as it stands in a file."""

    name: str
    how: str
    script: str
    says: str = ""
    give: dict[str, Any] = field(default_factory=dict)
    caught: dict[str, str] = field(default_factory=dict)
    log: str = ""
    scheduler: str = "slurm"
    site: str = ""
    words: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    diff: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    held: str = ""
    refused: str = ""
    safety: str = ""

    def __str__(self) -> str:
        return self.name


def fix_cases() -> list[FixCase]:
    """Return every case, by file and name."""
    out = []
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), "rb") as file:
            tables = tomllib.load(file)
        for key, table in tables.items():
            values = {one: tuple(value) if isinstance(value, list) else value for one, value in table.items()}
            out.append(FixCase(name="%s:%s" % (name.removesuffix(".toml"), key), **values))
    return out


def cured(case: FixCase, cwd: str = "/") -> Cure:
    """Return what becomes of a case."""
    made = {name: tuple(value) if isinstance(value, list) else value for name, value in case.ended.items()}
    asked = submission(case.script.encode(), case.scheduler, case.words, case.environment, cwd)
    return cure_of(case.how, case.give, case.caught, asked, site(case.site, case.scheduler), Ended(**made), case.log)


def submission(
    script: bytes, scheduler: str = "slurm", words: tuple[str, ...] = (), environment: Mapping[str, str] = {},
    cwd: str = "/",
) -> Submission:  # fmt: skip
    """Return one's own submission of `job.sh`."""
    command = b"qsub" if scheduler == "pbs" else b"sbatch"
    given = {name.encode(): value.encode() for name, value in environment.items()}
    argv = (command, *(one.encode() for one in words), b"job.sh")
    return Submission(scheduler, argv, script, "file", b"job.sh", cwd.encode(), os.getuid(), given)


def site(name: str, scheduler: str) -> Site:
    """Return the site of that id; "" for one of which nothing is known."""
    return sites.load(name) if name else GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM


def cure_of(
    how: str,
    give: Mapping[str, Any],
    caught: Mapping[str, str],
    asked: Submission,
    where: Site,
    ended: Ended = NOTHING,
    log: str = "",
) -> Cure:
    """Return what a typed fix comes to, with all checks made."""
    case = Case(ended, asked.scheduler, where, asked)
    cause = Cause("entry", "unknown", "says", 9.0, 0.9, (Evidence("log", 1, log),) if log else (), dict(caught))
    diagnosis = Diagnosis(case, (cause,))
    return tried(how, give, cause, Cure("script_env", "plain"), diagnosis, Digest(), facts(case, Digest(), None))


def difference(before: str, after: bytes | None) -> tuple[str, ...]:
    """Return the lines that go (`-…`) and come (`+…`)."""
    if after is None:
        return ()
    made = difflib.unified_diff(before.split("\n"), after.decode().split("\n"), n=0, lineterm="")
    return tuple(line for line in made if not line.startswith(("---", "+++", "@@")))
