"""Which word of sbatch's command line is the script, and when to leave it alone, as in `front/words_sbatch.c`."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from ..options import read_options
from .options import SBATCH

# Options behind which nothing is submitted, or not by this caller.
LEAVING = ("help", "usage", "version", "uid", "gid")


class Words(NamedTuple):
    """*came*: "file", "stdin" or "wrap". *word*, *offset*: where the name or the command stands in argv.

    *as_named*: a file is opened by the name as it is, and must be a regular one; else it is looked up as sbatch does.
    """

    came: str
    word: int = 0
    offset: int = 0
    chdir: Optional[bytes] = None
    as_named: bool = False


def read(argv: Sequence[bytes]) -> Optional[Words]:
    """Return what the words say of the script, None where the submission is better left alone."""
    if not argv or b":" in argv[1:]:  # parts of a heterogeneous job
        return None
    reading = read_options(SBATCH, argv)
    if reading.problem or any(one.name in LEAVING for one in reading.said):
        return None
    chdir = next((one.value for one in reversed(reading.said) if one.name == "chdir"), None)
    wraps = [one for one in reading.said if one.name == "wrap"]
    named = reading.end < len(argv)
    if len(wraps) > 1 or (wraps and (named or not wraps[0].value)) or (named and not argv[reading.end]):
        return None
    if wraps:
        return Words("wrap", wraps[0].value_word, wraps[0].value_at, chdir)
    return Words("file", reading.end, 0, chdir) if named else Words("stdin", 0, 0, chdir)
