"""What a command cannot do, in one line: what is wrong, where, what to do, and what a mistyped name was meant to be."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

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


ALIKE = 0.6  # the least that a name has to have in common with the one that was typed
CLOSE = 0.06  # names that are as near as the nearest, give or take this, are named too
MOST = 3


def near(typed: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that are nearest to *typed*, the nearest first; () where none is near.

    Upper and lower case are alike, and so are `-`, `_` and a blank.
    """
    word = _folded(typed)
    rated = [(_alike(word, _folded(name)), name) for name in dict.fromkeys(known) if name]
    best = max((rate for rate, _ in rated), default=0.0)
    if not word or best < ALIKE:
        return ()
    best_first = sorted((-rate, name) for rate, name in rated if rate >= max(ALIKE, best - CLOSE))
    return tuple(name for _, name in best_first[:MOST])


def meant(typed: str, known: Iterable[str]) -> str:
    """Return "did you mean delta?", "did you mean delta or deltaai?", or "" where nothing is near."""
    names = near(typed, known)
    return "did you mean %s?" % " or ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean x?" for the nearest known word, "" when none is near."""
    hint = meant(word, known)
    return "; " + hint if hint else ""


def _alike(typed: str, name: str) -> float:
    """Return how much two names have in common, 0 to 1.

    Two letters that changed places are nearly the same name, and so is its beginning.
    """
    if typed == name:
        return 1.0
    if _turned(typed, name):
        return 0.97
    begun = name[: len(typed) + 1]
    ratio = SequenceMatcher(None, typed, name).ratio()
    return max(ratio, 0.9 * SequenceMatcher(None, typed, begun).ratio()) if begun != name else ratio


def _turned(typed: str, name: str) -> bool:
    """Return whether two neighbouring letters changed places."""
    differs = [at for at, (letter, other) in enumerate(zip(typed, name)) if letter != other]
    return sorted(typed) == sorted(name) and len(differs) == 2 and differs[1] - differs[0] == 1


def _folded(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
