"""The cases of the rules, which are files: `tests/cases/rules/<CODE>/<case>/`.

| File | Holds |
|---|---|
| `job.sh` | the script |
| `site` | a site's id; without it, and without `site.toml`, the cluster that nobody has described |
| `site.toml` | a site file of the case's own, with the id `here` |
| `argv` | the words of sbatch's command line, `{}` for the script |
| `environment` | NAME=VALUE lines of the submitter's environment |
| `expected` | what the rule CODE finds: `LINE proven|tell safe|ask|tell [SLOT]` lines; empty: nothing |
| `fixed.sh`, `fixed.argv` | what the first fix of every finding of CODE makes of them; the rule is silent then |
"""

from __future__ import annotations

import os
import shlex
from functools import cache
from typing import NamedTuple, Optional

from maple_agents import sites
from maple_submit_filter.decide import examined, understood
from maple_submit_filter.edits import apply, apply_argv
from maple_submit_filter.findings import Finding
from maple_submit_filter.report import safety
from maple_submit_filter.script import line_of
from maple_submit_filter.site import GENERIC_SLURM, Site
from maple_submit_filter.submission import Submission

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
    asked = Submission("slurm", _words(folder, "argv") or (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/work",
                       1000, environment)  # fmt: skip
    expected = (_file(folder, "expected") or b"").decode().splitlines()
    return RuleCase(
        code, name, _site(folder), asked, tuple(expected), _file(folder, "fixed.sh"), _words(folder, "fixed.argv")
    )


def _file(folder: str, name: str) -> Optional[bytes]:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _words(folder: str, name: str) -> Optional[tuple[bytes, ...]]:
    said = _file(folder, name)
    if said is None:
        return None
    words = (b"job.sh" if word == "{}" else os.fsencode(word) for word in shlex.split(said.decode()))
    return (b"sbatch", *words)


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
    job = understood(submission or case.submission, None)
    assert job is not None, "sbatch would refuse this command line"
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
