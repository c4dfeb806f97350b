"""A cure on its way: the fixed copy beside the script, and its submission, both only at the user's word."""

from __future__ import annotations

import os
import shutil
import subprocess

import click
from maple_submit_filter.report import printable

from ..debug.values import Cure, Diagnosis
from .complaint import Complaint
from .new_output import put


def applied(diagnosis: Diagnosis, submit: bool, quiet: bool = False) -> None:
    """Write the first cure that changes the script as NAME.maple.sh; submit it where *submit* says so.

    Raises `Complaint` where no cure changes the script, or a file of that name is there.
    """
    cure = next((one for one in diagnosis.cures if (one.script or one.argv) and not one.held_back), None)
    if cure is None or diagnosis.case.asked is None:
        raise Complaint("no fix of this job changes its script", "nothing was written")
    path = written(cure, diagnosis)
    if not quiet:
        click.echo("written: " + printable(path), err=True)
    if submit:
        submitted(cure, diagnosis, path)


def beside(script: str, cwd: str) -> str:
    """Return the path of the fixed copy: `job.sh` gives `job.maple.sh`; of a script that came by stdin, in *cwd*."""
    folder, name = os.path.split(os.path.join(cwd, script or "job.sh"))
    stem = name[:-3] if name.endswith(".sh") else name
    return os.path.join(folder, stem + ".maple.sh")


def written(cure: Cure, diagnosis: Diagnosis) -> str:
    """Write the copy, and return its path. Raises `Complaint`."""
    asked = diagnosis.case.asked
    assert asked is not None
    path = beside(os.fsdecode(asked.path), os.fsdecode(asked.cwd))
    put(cure.script if cure.script is not None else asked.script or b"", path)
    return path


def submitted(cure: Cure, diagnosis: Diagnosis, path: str) -> None:
    """Submit the copy with the words of the first submission, from its work dir; the command's output is the user's."""
    argv = words(cure, diagnosis, path)
    command = shutil.which(argv[0])
    if command is None:
        raise Complaint("%s is not on PATH" % argv[0], "submit %s yourself" % path)
    asked = diagnosis.case.asked
    cwd = os.fsdecode(asked.cwd) if asked is not None else "."
    code = subprocess.run([command, *argv[1:]], cwd=cwd, check=False).returncode
    if code != 0:
        raise Complaint("%s exited with %d" % (argv[0], code), "the fixed copy is %s" % path)


def words(cure: Cure, diagnosis: Diagnosis, path: str) -> list[str]:
    """Return the submit command's words with *path* in place of the script."""
    asked = diagnosis.case.asked
    assert asked is not None
    given = list(cure.argv if cure.argv is not None else asked.argv)
    at = max((place for place, word in enumerate(given) if place and word == asked.path and word), default=None)
    if at is None:
        given.append(os.fsencode(path))
    else:
        given[at] = os.fsencode(path)
    return [os.fsdecode(word) for word in given]
