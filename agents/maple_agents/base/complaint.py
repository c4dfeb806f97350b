"""What a command cannot do, in one line: what is wrong, where, and what to do."""

from __future__ import annotations

import importlib.util
import re

import click
from maple_submit_filter.answer.report import printable


class Complaint(click.ClickException):
    """Ends a command with exit code 2 and one line on stderr; *remedy* says what to do."""

    exit_code = 2

    def __init__(self, wrong: str, remedy: str = "") -> None:
        super().__init__(printable(wrong.rstrip(".") + (f"; {remedy}" if remedy else "")))


PROJECT = "maple-hpc"


def remedy(error: ImportError) -> str:
    """Return what installs the library that was not found, "" where it is none of ours."""
    missing = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in _extras().items() if missing in modules), "")
    return install(extra) if extra else ""


def install(extra: str) -> str:
    """Return the line that installs an extra."""
    return f"pip install '{PROJECT}[{extra}]'"


def lacking(extra: str) -> list[str]:
    """Return the libraries of an extra that this interpreter does not find, by the names that pip knows."""
    return [name for module, name in _extras().get(extra, {}).items() if importlib.util.find_spec(module) is None]


def _extras() -> dict[str, dict[str, str]]:
    """Return, for each extra of the installed package, its modules and the packages that bring them."""
    from importlib import metadata  # a tenth of the time that `maple check` may take

    extras: dict[str, dict[str, str]] = {}
    try:
        requirements = metadata.requires(PROJECT) or []
    except metadata.PackageNotFoundError:  # a checkout on PYTHONPATH
        return extras
    for line in requirements:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and extra and extra[1] != "dev":
            extras.setdefault(extra[1], {})[name[0].lower().replace("-", "_")] = name[0]
    return extras
