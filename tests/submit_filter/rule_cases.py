"""The cases of the rules: `tests/cases/rules/<CODE>.toml` and `tests/cases/launch/<CODE>.toml`, a `[[case]]` each.

| Key | Holds |
|---|---|
| `name`, `why`, `finds` | as in `tests/case_files.py`; of `finds` each is `LINE proven|tell safe|ask|tell [SLOT]` |
| `site` | a site's id; without it, and without `site_file`, the Slurm cluster that nobody has described |
| `site_file` | a site file of the case's own, with the id `here` |
| `argv` | the words of the command line of sbatch, or of qsub where the site has PBS, `{}` for the script |
| `environment` | NAME=VALUE of the submitter's environment |
| `disk` | paths of files that there are, or a table of their texts; without it none is looked for |
| `script` | the script |
| `becomes`, `becomes_argv` | what the first fix of every finding of the rule makes of them; the rule is silent then |
| `submitted` | the script that is submitted unasked; without it, in `launch/`, nothing is changed |
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple, Optional

from maple_agents.ask import sites
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.answer.report import safety
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.edits import apply, apply_argv
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.submission import Submission

from tests.case_files import CASES, Row, rows, text

FOLDER = os.path.join(CASES, "rules")
OF_LAUNCH = os.path.join(CASES, "launch")  # those of rules that read the plan


class RuleCase(NamedTuple):
    """One case of one rule. *fixed*, *fixed_argv* and *submitted* are None where nothing says them."""

    code: str
    name: str
    site: Site
    submission: Submission
    expected: tuple[str, ...]
    fixed: Optional[bytes]
    fixed_argv: Optional[tuple[bytes, ...]]
    disk: Optional[Mapping[bytes, bytes]] = None
    submitted: Optional[bytes] = None

    def read(self, path: bytes) -> Optional[bytes]:
        """Return what stands in a file of the case, None where there is no such file."""
        return self.disk.get(path) if self.disk is not None else None

    def __str__(self) -> str:
        return "%s/%s" % (self.code, self.name)


def cases(folder: str = FOLDER) -> list[RuleCase]:
    """Return every case, sorted by rule and name. Raises `ValueError` with one line for a key that is not known."""
    return list(_cases(folder))


@cache
def _cases(folder: str) -> tuple[RuleCase, ...]:
    """Read them: a dozen modules of tests ask for the same."""
    files = sorted(os.listdir(folder))
    return tuple(_read(file, row) for file in files for row in rows(os.path.join(folder, file), KEYS))


def scripts(folder: str = FOLDER) -> Iterator[tuple[str, bytes]]:
    """Yield every script of the cases, also those that repairs make, with a name of its own that ends in .sh."""
    for case in cases(folder):
        made = {"job": case.submission.script, "fixed": case.fixed, "repaired": case.submitted}
        yield from (("%s/%s.sh" % (case, name), script) for name, script in made.items() if script is not None)


def _read(file: str, row: Row) -> RuleCase:
    site = _site(row)
    command = _COMMANDS[site.scheduler]
    words = _words(row, "argv", command) or (command, b"job.sh")
    environment = dict(os.fsencode(line).split(b"=", 1) for line in row.get("environment", ()))
    script = text(row, "script")
    assert script is not None, "%s: %s has no script" % (file, row["name"])
    asked = Submission(site.scheduler, words, script, "file", b"job.sh", b"/work", 1000, environment)
    there = row.get("disk")
    texts = there if isinstance(there, dict) else dict.fromkeys(there or (), "")
    disk = {os.fsencode(path): content.encode() for path, content in texts.items()} if there is not None else None
    return RuleCase(file.removesuffix(".toml"), row["name"], site, asked, tuple(row["finds"]), text(row, "becomes"),
                    _words(row, "becomes_argv", command), disk, text(row, "submitted"))  # fmt: skip


_COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}
KEYS = ("site", "site_file", "argv", "environment", "disk", "script", "becomes", "becomes_argv", "submitted")


def _words(row: Row, key: str, command: bytes) -> Optional[tuple[bytes, ...]]:
    if key not in row:
        return None
    return (command, *(b"job.sh" if word == "{}" else os.fsencode(word) for word in shlex.split(row[key])))


def _site(row: Row) -> Site:
    own = text(row, "site_file")
    if own is not None:
        return sites.read(own, "here.toml")
    return _known(row["site"]) if "site" in row else GENERIC_SLURM


@cache
def _known(site_id: str) -> Site:
    return sites.load(site_id)


def found(case: RuleCase, submission: Optional[Submission] = None) -> list[Finding]:
    """Return what the case's rule finds in its submission, or in another one."""
    read = case.read if case.disk is not None else None
    job = understood(submission or case.submission, read, read)
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
