"""Which word of sbatch's command line is the script, by getopt_long's rules. `front/arguments.c` does the same."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from .sbatch_options import OPTIONS

# Options behind which nothing is submitted, or not by this caller.
LEAVING = ("help", "usage", "version", "autocomplete", "uid", "gid")
_TELLING = (*LEAVING, "wrap", "chdir", "workdir")
_LETTERS = {letter: (name, arity) for name, (arity, letter) in OPTIONS.items() if letter}


class Words(NamedTuple):
    """*came*: "file", "stdin" or "wrap". *word*, *offset*: where the name or the command stands in argv."""

    came: str
    word: int = 0
    offset: int = 0
    chdir: Optional[bytes] = None


def read(argv: Sequence[bytes]) -> Optional[Words]:
    """Return what the words say of the script, None where the submission is better left alone."""
    if not argv or b":" in argv[1:]:  # parts of a heterogeneous job
        return None
    seen: Optional[Words] = Words("stdin")
    at = 1
    while at < len(argv) and argv[at][:1] == b"-" and argv[at] != b"-":
        if argv[at] == b"--":
            at += 1
            break
        step = _long(argv, at) if argv[at][1:2] == b"-" else _letters(argv, at)
        if step is None:
            return None
        at, notes = step
        for name, word, offset in notes:
            seen = _note(seen, name, argv, word, offset) if seen else None
        if seen is None:
            return None
    if at >= len(argv):
        return seen
    if seen is None or seen.came == "wrap" or not argv[at]:
        return None
    return seen._replace(came="file", word=at)


_Notes = Tuple[Tuple[str, int, int], ...]


def _note(seen: Words, name: str, argv: Sequence[bytes], word: int, offset: int) -> Optional[Words]:
    if name in LEAVING:
        return None
    if name in ("chdir", "workdir"):
        return seen._replace(chdir=argv[word][offset:])
    if name == "wrap":
        if seen.came == "wrap" or not argv[word][offset:]:
            return None
        return seen._replace(came="wrap", word=word, offset=offset)
    return seen


def _named(name: bytes) -> Optional[Tuple[str, int]]:
    """Return the option of that name or prefix; of several any will do if none matters and all take values alike."""
    text = name.decode("latin-1")
    if not text or text in OPTIONS:
        return (text, OPTIONS[text][0]) if text else None
    found = [one for one in OPTIONS if one.startswith(text)]
    if not found or (len(found) > 1 and any(one in _TELLING for one in found)):
        return None
    arities = {OPTIONS[one][0] for one in found}
    return (found[0], arities.pop()) if len(arities) == 1 else None


def _long(argv: Sequence[bytes], at: int) -> Optional[Tuple[int, _Notes]]:
    name, equals, _ = argv[at][2:].partition(b"=")
    found = _named(name)
    if found is None or (found[1] == 0 and equals):
        return None
    if found[1] != 1 or equals:
        return at + 1, ((found[0], at, len(name) + (3 if equals else 2)),)
    if at + 1 >= len(argv):
        return None
    return at + 2, ((found[0], at + 1, 0),)


def _letters(argv: Sequence[bytes], at: int) -> Optional[Tuple[int, _Notes]]:
    word = argv[at]
    notes: List[Tuple[str, int, int]] = []
    for index in range(1, len(word)):
        found = _LETTERS.get(chr(word[index]))
        if found is None:
            return None
        name, arity = found
        if arity == 2:  # -k took no value before 20.11
            return (at + 1, tuple(notes)) if index + 1 == len(word) else None
        if arity == 1:
            inside = index + 1 < len(word)
            if not inside and at + 1 >= len(argv):
                return None
            notes.append((name, at if inside else at + 1, index + 1 if inside else 0))
            return (at + 1 if inside else at + 2), tuple(notes)
        notes.append((name, at, index))
    return at + 1, tuple(notes)
