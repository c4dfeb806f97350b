"""Where a program and its modules lie: the work folder at a launch line, and the paths that a name can mean."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from maple_submit_filter.types.job import Job

from .programs import Started

_CD = re.compile(r"^([ \t]*)(?:cd|pushd)(?:[ \t]+([^\n#;&|]*?))?[ \t]*(?=$|#|;|&|\|)", re.MULTILINE)
_HIDDEN = re.compile(r"(?:[;&|({]|\bthen|\bdo)[ \t]*(?:cd|pushd)\b|\bpopd\b|--chdir\b|--wdir\b|\bsrun\b[^\n]*[ \t]-D\b")
_SUBMITTED = re.compile(r"\$\{?(?:SLURM_SUBMIT_DIR|PBS_O_WORKDIR|PWD)\}?")


def work_folder(job: Job, line: int) -> str | None:
    """Return the folder that the launch on *line* runs in, None where the script hides it."""
    text = job.source.decode("utf-8", "replace")
    if _HIDDEN.search(text):
        return None
    submitted = os.fsdecode(job.submission.cwd)
    said = os.fsdecode(job.settings.value("chdir") or b"")
    folder: str | None = os.path.join(submitted, said)
    if job.submission.scheduler == "pbs" and not said:
        folder = None  # PBS starts a job in the user's home
    for found in _CD.finditer(text):
        if text.count("\n", 0, found.start()) + 1 < line:
            if found[1]:
                return None  # it may not come to that
            folder = _entered(folder, (found[2] or "").strip().strip("\"'"), submitted)
    return folder if folder is not None and os.path.isabs(folder) else None


def _entered(folder: str | None, word: str, submitted: str) -> str | None:
    path = _SUBMITTED.sub(lambda _: submitted, word)
    if not path or re.search(r"[$`*?~\\\s\"']", path) or path == "-":
        return None
    return path if os.path.isabs(path) else os.path.join(folder, path) if folder is not None else None


def program_paths(one: Started, folder: str) -> Iterator[str]:
    """Yield where the program's file may be, the likeliest first."""
    if one.is_module:
        at = os.path.join(folder, *one.program.split("."))
        yield at + ".py"
        yield os.path.join(at, "__main__.py")
    elif one.program.endswith(".py"):
        yield os.path.join(folder, one.program)


def module_paths(dots: int, module: str, path: str, top: str) -> Iterator[str]:
    """Yield where a module that *path* imports may lie; *top*: the folder of the program."""
    start = top
    if dots:
        start = os.path.dirname(path)
        for _ in range(dots - 1):
            start = os.path.dirname(start)
    at = os.path.join(start, *filter(None, module.split(".")))
    if module:
        yield at + ".py"
    yield os.path.join(at, "__init__.py")
