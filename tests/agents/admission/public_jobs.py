"""Training jobs of public repositories: what their labels say, and what the readers make of their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib
from maple_agents.admission import analysis, names
from maple_submit_filter.types.submission import Submission

FILE = Path(__file__).parents[2] / "cases" / "admission-public" / "jobs.toml"
FIELDS = {*names.SPELLINGS, "program", "launcher"}


class PublicJob(NamedTuple):
    """A job by reference. *values*: by name, each with the texts that are right."""

    repository: str
    commit: str
    path: str
    values: dict[str, tuple[str, ...]]

    def text(self, folder: Path) -> bytes | None:
        """Return its script, fetched into *folder*/repository/commit/path; None where it is not there."""
        file = folder / self.repository / self.commit / self.path
        return file.read_bytes() if file.is_file() else None


def jobs() -> Iterator[PublicJob]:
    """Yield the labelled jobs."""
    for told in tomllib.loads(FILE.read_text("utf-8"))["job"]:
        values = {name: (one,) if isinstance(one, str) else tuple(one) for name, one in told["values"].items()}
        yield PublicJob(told["repository"], told["commit"], told["path"], values)


def read(script: bytes) -> dict[str, str]:
    """Return what the readers say of a script alone, by name; one without a first line is taken as bash's."""
    script = script if script.lstrip().startswith(b"#!") else b"#!/bin/bash\n" + script
    submission = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/none", 1000, {})
    found = analysis.analyse(submission, (analysis.whole_script(script),)).values
    return {value.name: value.value for value in found if value.name in FIELDS}


class Tally(NamedTuple):
    """*right*, *wrong*, *missed* by field; *lines*: what was wrong, with its place."""

    right: Counter[str]
    wrong: Counter[str]
    missed: Counter[str]
    lines: list[str]


def judged(job: PublicJob, said: dict[str, str], tally: Tally) -> None:
    """Add what was said of a job to the tally: a value that the label does not have is wrong."""
    for name in sorted({*said, *job.values}):
        right = job.values.get(name, ())
        if name not in said:
            tally.missed[name] += 1
        elif any(names.same(said[name], one) for one in right):
            tally.right[name] += 1
        else:
            tally.wrong[name] += 1
            tally.lines.append("%s %s: %s is %s, not %s" % (job.repository, job.path, name, said[name], right or "-"))
