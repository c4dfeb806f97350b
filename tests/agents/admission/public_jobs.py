"""Training jobs of public repositories: what their labels say, and what the readers make of their text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib
from maple_agents.admission import analysis, names
from maple_agents.admission.files import read_files
from maple_submit_filter.types.submission import Submission

FILE = Path(__file__).parents[2] / "cases" / "admission-public" / "jobs.toml"
FIELDS = {*names.SPELLINGS, "program", "launcher"}


class PublicJob(NamedTuple):
    """A job by reference. *values*: by name, each with the texts that are right; *also*: those of its *files*.

    *files_at*: the commit that these are of, where they are stored at another than the script.
    """

    repository: str
    commit: str
    path: str
    values: dict[str, tuple[str, ...]]
    folder: str = ""
    files: tuple[str, ...] = ()
    also: dict[str, tuple[str, ...]] = {}
    files_at: str = ""

    def text(self, folder: Path) -> bytes | None:
        """Return its script, fetched into *folder*/repository/commit/path; None where it is not there."""
        file = self.top(folder) / self.path
        return file.read_bytes() if file.is_file() else None

    def top(self, folder: Path) -> Path:
        """Return where its repository lies in *folder*."""
        return folder / self.repository / self.commit

    @property
    def with_files(self) -> "PublicJob":
        """Return it with all values that hold where its repository is there."""
        return self._replace(values={**self.values, **self.also})


def jobs() -> Iterator[PublicJob]:
    """Yield the labelled jobs."""
    for told in tomllib.loads(FILE.read_text("utf-8"))["job"]:
        values, also = (_texts(told.get(key, {})) for key in ("values", "also"))
        files = tuple(told.get("files", ()))
        place = told["repository"], told["commit"], told["path"]
        yield PublicJob(*place, values, told.get("folder", ""), files, also, told.get("files_at", ""))


def _texts(told: dict[str, str | list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: (one,) if isinstance(one, str) else tuple(one) for name, one in told.items()}


def read(script: bytes) -> dict[str, str]:
    """Return what the readers say of a script alone, by name; one without a first line is taken as bash's."""
    script = script if script.lstrip().startswith(b"#!") else b"#!/bin/bash\n" + script
    submission = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/none", 1000, {})
    found = analysis.analyse(submission, (analysis.whole_script(script),)).values
    return {value.name: value.value for value in found if value.name in FIELDS}


def read_with_files(job: PublicJob, folder: Path) -> dict[str, str] | None:
    """Return what the readers say of a script with its repository; None where one of its files is not there."""
    top, script = job.top(folder), job.text(folder)
    if not job.files or script is None or not all((top / file).is_file() for file in job.files):
        return None
    script = script if script.lstrip().startswith(b"#!") else b"#!/bin/bash\n" + script
    where = os.fsencode(top / job.folder)
    submission = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", where, 1000, {})
    found = read_files(submission, (analysis.whole_script(script),)).values
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
