"""What was meant by a mistyped name: one way to find it, and one way to say it. Who reads words needs no click."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

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
