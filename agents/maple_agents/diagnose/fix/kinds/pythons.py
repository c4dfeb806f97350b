"""The Python that runs: the one by its present name, or that of the environment that has the missing package."""

from __future__ import annotations

import glob
import os
import re

from maple_submit_filter.types.edits import Edit, Fix, Safety

from ..registry import Given, fix
from .insertion import line, plain_words
from .paths import environments

_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}\Z")
_FOLDER = re.compile(r"/[A-Za-z0-9_.,+@=/-]+\Z")
_ACTIVATES = re.compile(rb"\bactivate\b|\bconda run\b")
_OF_SYSTEM = re.compile(r"(?:/usr)?/bin/python[\d.]*\Z")
_SAYS_TWO = re.compile(r"Non-ASCII character|\bPython 2\b")  # words of Python 2 alone
_BESIDE = (".venv", "venv", "env")


@fix("replace-python")
def replace_python(given: Given) -> Fix | None:
    """Activate the one environment of the user's that has the package; where python is not found, call it python3.

    `python2`, or a `python` that is not there, becomes `python3`; a Python with its whole path is left as it is.
    """
    module = given.caught("module").partition(".")[0]
    if module:
        return _activated(given, module) if _MODULE.match(module) else None
    return _renamed(given)


def _renamed(given: Given) -> Fix | None:
    missing = given.caught("name")
    words = " ".join(evidence.text for evidence in given.cause.evidence)
    old = {missing} if missing else {"python2", "python2.7", *(["python"] if _SAYS_TWO.search(words) else [])}
    if not old <= {"python", "python2", "python2.7"}:
        return None
    programs = _programs(given)
    edits = [
        Edit(word.span, b"python3", "replace-python")
        for word in plain_words(given.job.source)
        if word.text in old and (word.nth == 0 or word.span.start in programs)
    ]
    return (
        Fix(tuple(edits), Safety.ASK, "python3 in place of %s" % " and ".join(_replaced(given, edits)))
        if edits
        else None
    )


def _programs(given: Given) -> set[int]:
    """Return where the words stand that launch lines start, and the launchers'."""
    spans = [span for step in given.plan.steps for span in step.program_spans[:1]]
    spans += [link.name_span for step in given.plan.steps for link in step.links]
    return {span.start for span in spans if span is not None}


def _replaced(given: Given, edits: list[Edit]) -> list[str]:
    return sorted({given.job.source[slice(*edit.span)].decode() for edit in edits})


def _activated(given: Given, module: str) -> Fix | None:
    """Activate the environment in front of the first launch, where exactly one has the module and none is active."""
    if _ACTIVATES.search(given.job.source):
        return _of_environment(given)
    if not given.own:
        return None
    having = [environment for environment in _environments(given) if has(environment, module)]
    if len(having) != 1 or not _FOLDER.match(having[0]):
        return None
    folder = having[0]
    words = (
        ". %s/bin/activate" % folder
        if os.path.isfile(folder + "/bin/activate")
        else "export PATH=%s/bin:$PATH" % folder
    )
    edit = line(given, words.encode(), "replace-python")
    return Fix((edit,), Safety.ASK, "%s has %s: %s" % (folder, module, words)) if edit is not None else None


def _of_environment(given: Given) -> Fix | None:
    """Start the Python of the environment that the script activates, where it names the system's by its path.

    Only what it starts behind that line: what makes the environment stands before it.
    """
    active = _ACTIVATES.search(given.job.source)
    programs = _programs(given)
    edits = [
        Edit(word.span, b"python", "replace-python")
        for word in plain_words(given.job.source)
        if active is not None and word.span.start > active.end()
        if _OF_SYSTEM.match(word.text) and (word.nth == 0 or word.span.start in programs)
    ]
    return Fix(tuple(edits), Safety.ASK, "the python of the environment that is active") if edits else None


def _environments(given: Given) -> list[str]:
    """Return the environments that the job's user is likely to mean, each once, without links."""
    named = [given.job.submission.environment.get(name, b"") for name in (b"VIRTUAL_ENV", b"CONDA_PREFIX")]
    cwd = os.fsdecode(given.job.submission.cwd)
    beside = [os.path.join(cwd, name) for name in _BESIDE]
    every = [*(os.fsdecode(folder) for folder in named if folder), *beside, *environments()[:100]]
    return list(dict.fromkeys(os.path.realpath(folder) for folder in every if os.path.isdir(folder)))


def has(environment: str, module: str) -> bool:
    """Return whether a Python environment holds a module, by its files."""
    paths = glob.glob(os.path.join(glob.escape(environment), "lib", "python3*", "site-packages", module))
    paths += glob.glob(os.path.join(glob.escape(environment), "lib", "python3*", "site-packages", module + ".*"))
    return any(not path.endswith("-info") for path in paths)
