"""A cure on its way: the fixed copy beside the script, and its submission, both only at the user's word.

An answer that was not wanted to its end: an interrupt, a reader that is gone, an output that takes no more.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.request.pbs import options as qsub_words
from maple_submit_filter.request.slurm import options as sbatch_words
from maple_submit_filter.types.submission import Submission

from ...base.complaint import Complaint
from ...base.new_file import put
from ...diagnose.read.clean_lines import safe_words
from ...diagnose.values import Cure, Diagnosis

_QUEUES = {"slurm": "squeue --me", "pbs": "qstat -u $USER"}

# Of the first submission's variables these are not given again: they tell where one is now, not what was asked for.
_OF_NOW = (b"PWD", b"HOSTNAME", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"TMPDIR", b"XDG_RUNTIME_DIR")


class Applied(NamedTuple):
    """What was done: the copy's path, None where there is none, and what the submit command said, None where it is
    not kept or did not run.
    """

    written: str | None = None
    submitted: str | None = None


def applied(diagnosis: Diagnosis, submit: bool, quiet: bool = False) -> Applied:
    """Write the first cure that changes the script as NAME.maple.sh; submit it where *submit* says so.

    A cure of the submit command's words alone needs no copy, and one that lies there already is taken as it is.
    *quiet*: say nothing, and keep what the submit command says. Raises `Complaint` where no cure changes anything, the
    job is another user's, or another file has that name.
    """
    asked = diagnosis.case.asked
    cure = fix_of(diagnosis)
    if cure is None or asked is None:
        raise Complaint("no fix for this job changes its script", "nothing was written")
    if asked.uid != os.getuid():
        raise Complaint("the job is another user's", "only its owner can apply a fix; nothing was written")
    path = "" if cure.script is None and _is_there(asked) else written(cure, diagnosis, quiet)
    if submit:
        return Applied(path or None, submitted(cure, diagnosis, path, quiet))
    if not quiet:
        shown = shlex.join(safe_words([os.fsencode(word) for word in words(cure, diagnosis, path)]))
        lead = "" if path else "the script needs no change; "
        click.echo(lead + "submit it so: " + shown, err=True)
    return Applied(path or None)


def fix_of(diagnosis: Diagnosis) -> Cure | None:
    """Return the cure that is taken: the first that changes script or command; None where none does."""
    return next((cure for cure in diagnosis.cures if _changes(cure)), None)


def _changes(cure: Cure) -> bool:
    return (cure.script is not None or cure.argv is not None) and not cure.held_back


def _is_there(asked: Submission) -> bool:
    """Return whether the script that was submitted still lies where it was, as it was."""
    try:
        with open(os.path.join(asked.cwd, asked.path), "rb") as file:
            return bool(asked.path) and stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read() == asked.script
    except (OSError, ValueError):
        return False


def beside(script: str, cwd: str) -> str:
    """Return the path of the fixed copy: `job.sh` gives `job.maple.sh`; of a script that came by stdin, in *cwd*.

    So, too, where the script's folder is no more. What a terminal would obey, or hide, is not taken over into the name.
    """
    folder, name = os.path.split(os.path.join(cwd, "job.sh" if script in ("", "-") else script))
    stem = name[:-3] if name.endswith(".sh") else name
    stem = "".join(letter if letter.isprintable() else "_" for letter in stem)
    return os.path.join(folder if os.path.isdir(folder) else cwd, stem + ".maple.sh")


def written(cure: Cure, diagnosis: Diagnosis, quiet: bool = False) -> str:
    """Write the copy with the mode of the script, and return its path. Raises `Complaint`.

    The very same bytes may lie there from the last time: then there is nothing to write.
    """
    asked = diagnosis.case.asked
    assert asked is not None
    script, cwd = os.fsdecode(asked.path), os.fsdecode(asked.cwd)
    path = beside(script, cwd)
    whole = cure.script if cure.script is not None else asked.script or b""
    there = os.path.lexists(path)
    if there and not _holds(path, whole):
        raise Complaint("%s: is there already, and is not this fix" % path, "Maple overwrites nothing; move it away")
    if not there:
        _put(whole, path, _mode(os.path.join(cwd, script)))
    if not quiet:
        click.echo(("is there already: " if there else "written: ") + printable(path), err=True)
    return path


def _put(script: bytes, path: str, mode: int | None) -> None:
    """Write the copy. Raises `Complaint`, which tells a way round where the folder takes no file."""
    try:
        put(script, path, mode)
    except Complaint as error:
        raise Complaint(error.message, "nothing was written; apply the diff with patch in another folder") from error


def _holds(path: str, script: bytes) -> bool:
    """Return whether a file of one's own at *path* holds *script*; links are not followed, pipes not waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone, a link, or not to be read
        return False
    try:
        facts = os.fstat(file)
        same = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.getuid() and facts.st_size == len(script)
        return same and os.read(file, len(script) + 1) == script
    except OSError:
        return False
    finally:
        os.close(file)


def _mode(script: str) -> int | None:
    """Return the permissions of the script, the owner's right to read and write added; None where it is not there."""
    try:
        facts = os.stat(script)
    except (OSError, ValueError):
        return None
    return facts.st_mode & 0o777 | 0o600 if stat.S_ISREG(facts.st_mode) else None


def submitted(cure: Cure, diagnosis: Diagnosis, path: str, quiet: bool = False) -> str | None:
    """Submit the copy as the first one was: its words, its variables, its work dir. Raises `Complaint`.

    The output is the user's; *quiet*: it is returned instead.
    """
    asked = diagnosis.case.asked
    assert asked is not None
    argv, cwd = words(cure, diagnosis, path), os.fsdecode(asked.cwd)
    command = shutil.which(argv[0])
    copy = path or os.fsdecode(asked.path)
    if command is None:
        raise Complaint("%s is not on PATH" % argv[0], "submit %s yourself" % copy)
    try:
        done = subprocess.run(
            [command, *argv[1:]], cwd=cwd, env=environment(asked), check=False,
            stdout=subprocess.PIPE if quiet else None,
        )  # fmt: skip
    except OSError as error:
        raise Complaint(
            "%s: %s" % (cwd, (error.strerror or str(error)).lower()), "submit %s yourself" % copy
        ) from error
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted while %s ran" % argv[0], "%s shows whether it took the job" % _QUEUES[asked.scheduler]
        ) from None
    code = done.returncode
    if code != 0:
        how = "exited with %d" % code if code > 0 else "was ended by signal %d" % -code
        raise Complaint("%s %s" % (argv[0], how), "no job id was printed; the fixed script is %s" % copy)
    return done.stdout.decode("utf-8", "replace").strip() if quiet else None


def environment(asked: Submission) -> dict[bytes, bytes]:
    """Return the variables to submit with: those of now, and over them what is known of the first submission."""
    before = {name: value for name, value in asked.environment.items() if name not in _OF_NOW}
    return {**os.environb, **before, b"PWD": asked.cwd}


def words(cure: Cure, diagnosis: Diagnosis, path: str) -> list[str]:
    """Return the submit command's words with *path* in place of the script; "" leaves it as it was."""
    asked = diagnosis.case.asked
    assert asked is not None
    given = list(cure.argv if cure.argv is not None else asked.argv)
    read = (qsub_words if asked.scheduler == "pbs" else sbatch_words).read(given)
    if path and read is not None and read.came == "file":
        given[read.word] = os.fsencode(path)
    elif path:
        given = [*(given[:-1] if given[-1] == b"-" else given), os.fsencode(path)]
    return [os.path.basename(os.fsdecode(given[0])), *(os.fsdecode(word) for word in given[1:])]


class Interrupted(Complaint):
    """Somebody pressed Ctrl-C: one line, and the exit code that shells give it."""

    exit_code = 130


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn an interrupt into one line. What was begun has been taken back on the way here."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted", "nothing was written, and nothing submitted") from None


def spoken() -> None:
    """Make sure that an answer can be given, in whatever letters the terminal has.

    Raises `Complaint` where standard output is closed: whatever is opened next would get its number.
    """
    if sys.stdout is None:
        raise Complaint("standard output is closed", "redirect it to a file or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a log's letters may be none of Latin-1


@contextlib.contextmanager
def printing(goes_on: bool = False) -> Iterator[None]:
    """Print what is printed within to its end, or raise `Complaint` where the output takes no more.

    A reader that has seen enough is no failure; *goes_on*: there is more to do than to print, and it is done then too.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _silence()
        if error.errno == errno.EPIPE and goes_on:
            return
        if error.errno == errno.EPIPE:
            raise
        why = (error.strerror or str(error)).lower()
        raise Complaint("the answer could not be printed: %s" % why, "nothing else was done") from error


def _silence() -> None:
    """Lead standard output nowhere, so that what is left in its buffer fails no second time."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
