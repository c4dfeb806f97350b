"""Names that are spelled nearly alike."""

from __future__ import annotations

from typing import Iterable, List


def alike(name: str, other: str) -> bool:
    """Return whether two names differ in case only, or in one letter, one left out, or two exchanged."""
    name, other = name.lower(), other.lower()
    if name == other:
        return True
    if len(name) == len(other):
        apart = [index for index in range(len(name)) if name[index] != other[index]]
        swapped = len(apart) == 2 and name[apart[0]] == other[apart[1]] and name[apart[1]] == other[apart[0]]
        return swapped or (len(apart) == 1 and not (name[apart[0]] + other[apart[0]]).isdigit())
    longer, shorter = (name, other) if len(name) > len(other) else (other, name)
    return len(longer) - len(shorter) == 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def misspelt(name: str, other: str) -> bool:
    """Return whether a name is another one with a slip in its letters.

    Names of hardware are short and differ by a letter (h100 and a100, skx and skl): a letter for another is a slip in
    words of five letters or more, one too many or too few in those of four.
    """
    apart = [(mine, theirs) for mine, theirs in zip(_words(name), _words(other)) if mine != theirs]
    long = (max(len(mine), len(theirs)) >= 4 + (len(mine) == len(theirs)) for mine, theirs in apart)
    return alike(name, other) and any(long)


def _words(name: str) -> List[str]:
    """Return the runs of letters in a name."""
    return "".join(sign if sign.isalpha() else " " for sign in name.lower()).split()


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the one name that was surely meant: spelled alike, else written, shortened or begun alike; "" for none."""
    known = list(dict.fromkeys(names))
    for same in (alike, _written_alike, _begun_alike, _two_apart):
        near = [other for other in known if same(name, other)]
        if near:
            return near[0] if len(near) == 1 else ""
    return ""


def _written_alike(name: str, other: str) -> bool:
    """Whether they differ in case and in what stands between the words alone: gpu-A100 and gpu_a100."""
    return _bare(name) == _bare(other)


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _begun_alike(name: str, other: str) -> bool:
    """Whether one is the beginning of the other: debugging and debug."""
    short, long = sorted((name.lower(), other.lower()), key=len)
    return len(short) > 2 and long.startswith(short)


def _two_apart(name: str, other: str) -> bool:
    """Whether long names differ in two letters."""
    if min(len(name), len(other)) < 6 or abs(len(name) - len(other)) > 2:
        return False
    row = list(range(len(other) + 1))
    for above, letter in enumerate(name.lower(), 1):
        left, row[0] = row[0], above
        for at, letter_too in enumerate(other.lower(), 1):
            left, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, left + (letter != letter_too))
    return row[-1] <= 2


def option_alike(name: str, other: str) -> bool:
    """Return whether an option is another one misspelt: a letter, words joined, underscores, their order."""
    spelled, known = (word.strip("-").replace("_", "-") for word in (name, other))
    if spelled == known:
        return name != other  # dashes for underscores, where there is but one of them
    joined = spelled.replace("-", "").lower() == known.replace("-", "")
    return joined or (len(spelled) > 3 and alike(spelled, known)) or _in_order(spelled) == _in_order(known)


def _in_order(name: str) -> List[str]:
    return sorted(word.rstrip("s") for word in name.lower().split("-"))
