"""The user's own environment: a conda environment, a venv, a module."""

from __future__ import annotations

import re
import shlex

from ...base.missing import Refused
from ..values import Plan

_CONDA = re.compile(r"(?:(?:conda|mamba)(?: activate| env(?:ironment)?)?[ :=]+)(\S+)\Z", re.IGNORECASE)
_VENV = re.compile(r"(?:venv|virtualenv|virtual environment|python environment)[ :=]+(\S+)\Z", re.IGNORECASE)
_LINE = re.compile(r"(?:module|ml|source|\.) \S.*\Z")
_NAME = re.compile(r"[A-Za-z0-9_.+-]+\Z")
_PLAIN = re.compile(r"[\w@%+=:,./~${} -]+\Z")  # nothing that begins another command


def lines(plan: Plan) -> list[str]:
    """Return the lines that bring the environment that was said, [] where none was.

    It is a line (`module load x`, `source path/bin/activate`), a conda environment (`conda env x`, a bare name), or the
    path of a venv; several stand between semicolons. Raises `Refused` where it is neither.
    """
    parts = [part.strip() for part in plan.said.text("environment").split(";")]
    return [line for part in parts if part for line in _checked(part)]


def _checked(text: str) -> list[str]:
    if not _PLAIN.match(text):
        raise Refused("environment %r: say conda env NAME, the path of a venv, or module load NAME" % text)
    return _lines(text)


def _lines(text: str) -> list[str]:
    found = _CONDA.match(text)
    if found:
        return _conda(found[1])
    if _LINE.match(text):
        return [text]
    found = _VENV.match(text)
    path = found[1] if found else text
    if found or "/" in path and (path[0] in "/~$." or " " not in path):
        return ["source %s" % _path(path if path.endswith("/activate") else path.rstrip("/") + "/bin/activate")]
    if _NAME.match(path):
        return _conda(path)
    raise Refused("environment %s: say conda env NAME, the path of a venv, or module load NAME" % text)


def _conda(name: str) -> list[str]:
    """A batch shell does not know `conda activate` before conda's own functions are there."""
    return ['source "$(conda info --base)/etc/profile.d/conda.sh"', "conda activate %s" % _path(name)]


def _path(path: str) -> str:
    """Return a path as a word of shell: its variables and a leading tilde keep their meaning."""
    if re.fullmatch(r"[\w@%+=:,./~${}-]+", path):
        return path if "$" not in path else '"%s"' % path
    return shlex.quote(path)
