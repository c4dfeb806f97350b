"""What is read of a file, in a form that can be kept: while the file is as it was, it need not be read again."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .python.source import Declared, Said, Source, source
from .trees import Leaf, leaves
from .user_files import Form

_PACKAGE = re.compile(rb"^\s*#\s*@package\s+(\S+)", re.MULTILINE)


class Config(NamedTuple):
    """*package*: where Hydra puts it, as the file says, "" where it does not."""

    leaves: tuple[Leaf, ...]
    package: str


def _config(data: bytes, path: str) -> Config:
    said = _PACKAGE.search(data)
    return Config(tuple(leaves(data, path)), said[1].decode("utf-8", "replace") if said else "")


def _kept_config(told: Any) -> Config:
    found, package = told
    return Config(tuple(Leaf(_text(path), _maybe(value), _line(line)) for path, value, line in found), _text(package))


def _kept_packages(told: Any) -> tuple[str, ...]:
    return tuple(_text(one) for one in told)


def _kept_source(told: Any) -> Source:
    declared, said, imports, local, hydra, parsed, trains, classes = told
    return Source(
        _declared(declared), _said(said), _said(imports), tuple((_line(dots), _text(name)) for dots, name in local),
        (_maybe(hydra[0]), _maybe(hydra[1])) if hydra is not None else None, tuple(_text(one) for one in parsed),
        _line(trains), {_text(name): _declared(own) for name, own in classes.items()},
    )  # fmt: skip


def _declared(told: Any) -> tuple[Declared, ...]:
    return tuple(
        Declared(tuple(_text(flag) for flag in flags), _text(dest), _maybe(default), _line(line))
        for flags, dest, default, line in told
    )


def _said(told: Any) -> tuple[Said, ...]:
    return tuple(Said(_text(name), _text(value), _line(line)) for name, value, line in told)


def _text(told: Any) -> str:
    if not isinstance(told, str):
        raise TypeError("not a text")
    return told


def _maybe(told: Any) -> str | None:
    return None if told is None else _text(told)


def _line(told: Any) -> int:
    if not isinstance(told, int) or isinstance(told, bool):
        raise TypeError("not a number")
    return told


SOURCE: Form[Source] = Form("source", lambda data, path: source(data), _kept_source)
CONFIG: Form[Config] = Form("config", _config, _kept_config)
PACKAGES: Form[tuple[str, ...]] = Form("packages", lambda data, path: tuple(packages(data, path)), _kept_packages)


# Which packages a program wants: requirements.txt, pyproject.toml, environment.yml.

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
