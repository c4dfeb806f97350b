"""Whether a comment was plausibly meant as a directive: by how its word is spelled, and by what follows.

People write much into the head of a script that begins like a directive and is none: how to call it (`# sbatch
job.sh`), lines of other programs (`#YBATCH -r a100_4`), ones that they switched off (`##SBATCH`, `#XSBATCH`), a form
to be filled in (`--nodes=<number>`), prose. A directive has options only, and all of them are the command's.
"""

from __future__ import annotations

import re
from typing import List

from .options import OptionTable, read_options

_WORD = re.compile(rb"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_FORM = re.compile(rb"<[^<>]*>|\.\.\.|\xe2\x80\xa6")  # something to be filled in
# Who misses a key hits one beside it.
_BESIDE = {
    b"S": b"AWEDXZ", b"B": b"VGHN", b"A": b"QWSZ", b"T": b"RFGY", b"C": b"XDFV", b"H": b"GYUJNB", b"P": b"OL",
}  # fmt: skip


def misspelled(word: bytes, wanted: bytes) -> bool:
    """Return whether *word*, in capitals, is *wanted* with one slip of the fingers.

    A letter left out, doubled, exchanged with the next, or taken from the key beside. The first one stands: another
    there makes the name of another program, or is how a line is switched off.
    """
    if word == wanted:
        return True
    size = len(wanted)
    if len(word) == size:
        apart = [at for at in range(size) if word[at] != wanted[at]]
        if len(apart) == 1:
            at = apart[0]
            return at > 0 and word[at] in _BESIDE.get(wanted[at : at + 1], b"")
        swapped = len(apart) == 2 and apart[1] == apart[0] + 1
        return swapped and word[apart[0]] == wanted[apart[1]] and word[apart[1]] == wanted[apart[0]]
    if len(word) == size - 1:
        return any(wanted[:at] + wanted[at + 1 :] == word for at in range(size))
    return len(word) == size + 1 and any(wanted[: at + 1] + wanted[at:] == word for at in range(size))


def says_options_only(rest: bytes, known: OptionTable) -> bool:
    """Return whether what stands behind the word are options of the command, and nothing else."""
    words = words_of(rest)
    if not words or words[-1].endswith(b"\\") or any(_FORM.search(word) for word in words):
        return False
    reading = read_options(known, words, 0)
    command = any(one.name == "wrap" for one in reading.said)
    return not reading.problem and reading.end == len(words) and not command


def words_of(rest: bytes) -> List[bytes]:
    """Return the words up to a comment, with their quotes."""
    words: List[bytes] = _WORD.findall(rest)
    ends = next((at for at, word in enumerate(words) if word.startswith(b"#")), len(words))
    return words[:ends]
