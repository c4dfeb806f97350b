"""Which packages a program wants: requirements.txt, pyproject.toml, environment.yml."""

from __future__ import annotations

import re

from .trees import leaves

_WANTED = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w, .-]*\])?[ \t]*((?:[~=!<>]=?=?[ \t]*[\w.*+!-]+[ \t]*,?[ \t]*)*)")
_PYPROJECT = re.compile(r"project\.dependencies\.\d+")
_ENVIRONMENT = re.compile(r"dependencies\.\d+(?:\.pip\.\d+)?")
MOST = 200


def packages(data: bytes, path: str) -> list[str]:
    """Return the packages with the versions that are asked for, such as `torch==2.4.0`, in their order.

    An address, a local path and an option of pip are left out.
    """
    if path.endswith(".toml"):
        lines = [one.value or "" for one in leaves(data, path) if _PYPROJECT.fullmatch(one.path)]
    elif path.endswith((".yml", ".yaml")):
        lines = [one.value or "" for one in leaves(data, path) if _ENVIRONMENT.fullmatch(one.path)]
    else:
        lines = data.decode("utf-8", "replace").splitlines()
    found = (_package(line) for line in lines[: 10 * MOST])
    return list(dict.fromkeys(one for one in found if one))[:MOST]


def _package(line: str) -> str:
    """Return the package of a line without marks, extras and comments; "" where it names none."""
    text = line[:300].split("#")[0].split(";")[0].split(" --")[0].strip()
    found = _WANTED.fullmatch(text)
    return found[1] + found[2].replace(" ", "").replace("\t", "") if found else ""
