"""Names that are spelled nearly alike."""

from __future__ import annotations


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
