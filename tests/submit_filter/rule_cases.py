"""The cases of the rules, which are files: `tests/cases/rules/<CODE>/<case>/`.

| File | Holds |
|---|---|
| `job.sh` | the script |
| `site` | a site's id; without it, and without `site.toml`, the Slurm cluster that nobody has described |
| `site.toml` | a site file of the case's own, with the id `here` |
| `argv` | the words of the command line of sbatch, or of qsub where the site has PBS, `{}` for the script |
| `environment` | NAME=VALUE lines of the submitter's environment |
| `disk` | the files that there are, one path on a line; without it none is looked for. `/work` is where one submits |
| `expected` | what the rule CODE finds: `LINE proven|tell safe|ask|tell [SLOT]` lines; empty: nothing |
| `fixed.sh`, `fixed.argv` | what the first fix of every finding of CODE makes of them; the rule is silent then |
"""

from __future__ import annotations

import os
import shlex
from functools import cache
from typing import NamedTuple, Optional

from maple_agents.ask import sites
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.answer.report import safety
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.edits import apply, apply_argv
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.script import line_of
from maple_submit_filter.types.submission import Submission

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases", "rules")


class RuleCase(NamedTuple):
    """One case of one rule. *fixed* and *fixed_argv* are None where no file says them."""

    code: str
    name: str
    site: Site
    submission: Submission
    expected: tuple[str, ...]
    fixed: Optional[bytes]
    fixed_argv: Optional[tuple[bytes, ...]]
    disk: Optional[frozenset[bytes]] = None

    def read(self, path: bytes) -> Optional[bytes]:
        """Return what stands in a file of the case: nothing of interest, None where there is no such file."""
        return b"" if self.disk is not None and path in self.disk else None

    def __str__(self) -> str:
        return "%s/%s" % (self.code, self.name)


def cases(folder: str = FOLDER) -> list[RuleCase]:
    """Return every case, sorted by rule and name."""
    found = [(code, name) for code in os.listdir(folder) for name in os.listdir(os.path.join(folder, code))]
    return [_read(folder, code, name) for code, name in sorted(found)]


def _read(folder: str, code: str, name: str) -> RuleCase:
    folder = os.path.join(folder, code, name)
    script = _file(folder, "job.sh")
    assert script is not None, "%s has no job.sh" % folder
    environment = dict(line.split(b"=", 1) for line in (_file(folder, "environment") or b"").splitlines())
    site = _site(folder)
    command = _COMMANDS[site.scheduler]
    words = _words(folder, "argv", command) or (command, b"job.sh")
    asked = Submission(site.scheduler, words, script, "file", b"job.sh", b"/work", 1000, environment)
    expected = (_file(folder, "expected") or b"").decode().splitlines()
    fixed, fixed_argv = _file(folder, "fixed.sh"), _words(folder, "fixed.argv", command)
    return RuleCase(code, name, site, asked, tuple(expected), fixed, fixed_argv, _disk(folder))


_COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


def _disk(folder: str) -> Optional[frozenset[bytes]]:
    said = _file(folder, "disk")
    return frozenset(said.splitlines()) if said is not None else None


def _file(folder: str, name: str) -> Optional[bytes]:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _words(folder: str, name: str, command: bytes) -> Optional[tuple[bytes, ...]]:
    said = _file(folder, name)
    if said is None:
        return None
    words = (b"job.sh" if word == "{}" else os.fsencode(word) for word in shlex.split(said.decode()))
    return (command, *words)


def _site(folder: str) -> Site:
    own = _file(folder, "site.toml")
    if own is not None:
        return sites.read(own, "here.toml")
    said = (_file(folder, "site") or b"").decode().strip()
    return _known(said) if said else GENERIC_SLURM


@cache
def _known(site_id: str) -> Site:
    return sites.load(site_id)


def found(case: RuleCase, submission: Optional[Submission] = None) -> list[Finding]:
    """Return what the case's rule finds in its submission, or in another one."""
    job = understood(submission or case.submission, case.read if case.disk is not None else None)
    assert job is not None, "the command line would be refused"
    return [one for one in examined(job, case.site).findings if one.code == case.code]


def lines(findings: list[Finding], source: bytes) -> tuple[str, ...]:
    """Return findings as `expected` says them; line 0 is not in the script."""
    return tuple(
        " ".join(
            filter(
                None,
                (
                    str(line_of(source, one.at.start) if one.at is not None else 0),
                    "proven" if one.proven else "tell",
                    safety(one),
                    one.asks_for,
                ),
            )
        )
        for one in findings
    )


def mended(case: RuleCase) -> Submission:
    """Return the submission after the first fix of every finding of the case's rule."""
    fixes = [one.fixes[0] for one in found(case) if one.fixes]
    edits = [edit for fix in fixes for edit in fix.edits]
    argv_edits = [edit for fix in fixes for edit in fix.argv_edits]
    asked = case.submission
    assert asked.script is not None
    return asked._replace(script=apply(asked.script, edits), argv=apply_argv(asked.argv, argv_edits))
