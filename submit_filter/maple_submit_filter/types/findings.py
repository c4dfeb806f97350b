"""What a rule says about a job."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from .edits import Fix, Span


class FileLine(NamedTuple):
    """A line of a file that the script calls or reads, and what it should be: shown, and changed by its owner alone."""

    file: str
    line: int
    was: str
    becomes: str


class Finding(NamedTuple):
    """One sentence about one place, and what could be done.

    *proven*: facts contradict each other for every value of what is unknown; otherwise it is advice (always TELL).
    *at*: the bytes in the script, None when the place is not in the script (argv, environment, something missing).
    *asks_for*: the slot that only the user can fill ("account", "walltime" ...), or "".
    *fixes*: alternatives, best first; none where nothing can be proposed.
    *site_fact*: which site key said so, "" when the script contradicts itself.
    *elsewhere*: what is to be changed in another file than the script.
    """

    code: str
    says: str
    at: Optional[Span] = None
    proven: bool = False
    asks_for: str = ""
    fixes: Tuple[Fix, ...] = ()
    help: str = ""
    site_fact: str = ""
    elsewhere: Tuple[FileLine, ...] = ()


def counted(number: Optional[int], noun: str) -> str:
    """Return a number with its noun: `1 node`, `2 nodes`, `2 processes`."""
    return "%s %s%s" % (number, noun, "" if number == 1 else "es" if noun.endswith("s") else "s")


def sentence(text: str) -> str:
    """Return a text with a capital at its beginning, unless that is a name or an option (gpuA40x4, --nodes)."""
    first = text.split(" ", 1)[0].rstrip(",;:")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
