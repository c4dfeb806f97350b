"""Values that sbatch refuses as it reads them, with its own words (asked of 22.05.8; a test asks the installed one).

Only what no release takes: a number without a digit, a time with letters in it. What is not sure is no refusal: zero,
a fraction of memory, a range of tasks, words that a release may have more of.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Tuple

from ...types.settings import Setting

COUNTS = (
    "cores-per-socket", "cpus-per-gpu", "cpus-per-task", "mincpus", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
    "ntasks-per-node", "ntasks-per-socket", "sockets-per-node", "threads-per-core",
)  # fmt: skip
_COUNTS = ("ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "ntasks-per-gpu")
_AMOUNTS = ("mem", "mem-per-cpu", "mem-per-gpu", "tmp")
_TIMES = ("time", "time-min")
_NO_COUNT = rb"[^0-9-]*[a-zA-Z][^0-9-]*\Z|[0-9]+[a-jln-zA-JLN-Z][0-9a-zA-Z]*\Z"  # k and m may follow a number
_NO_LIMIT = (b"infinite", b"unlimited")


def refusals(settings: Iterable[Setting]) -> Iterator[Tuple[Setting, str]]:
    """Yield each setting whose value sbatch refuses, and what it says of it.

    Values with a `$` are left out: in a directive that is a mistake of its own.
    """
    for one in settings:
        said = "" if b"$" in one.value else _refused(one.name, one.value)
        if said:
            yield one, said


def _refused(name: str, value: bytes) -> str:
    return _without_digits(name, value) or _of_another_form(name, value)


_COUNT = rb"[ \t]*\+?\d+[kKmM]?\Z"
_SPAN = rb"\d+[kKmM]?-\d+[kKmM]?\Z"
_AMOUNT = rb"[0-9.+ \tkKmMgGtTpPbBiI]*\Z"
_TIME = rb"[ \t]*-?(?:\d+-)?\d*(?::\d*){0,2}[ \t]*\Z"
_SIGNAL = rb"(?:[BR]+:)?[-+]?\w+(?:@\d+)?\Z"


def _of_another_form(name: str, value: bytes) -> str:
    """Return what sbatch says of a value that is written as another option's values are."""
    shown = value.decode("utf-8", "backslashreplace")
    if name in COUNTS and value and not re.match(_COUNT, value) and not (name == "ntasks" and re.match(_SPAN, value)):
        return 'Invalid numeric value "%s" for --%s.' % (shown, name)
    if name in _AMOUNTS and not re.match(_AMOUNT, value):
        return "Invalid --%s specification" % name
    if name in _TIMES and value and not re.search(rb"[a-zA-Z]", value) and not re.match(_TIME, value):
        return "Invalid --%s specification" % name
    if name == "open-mode" and value[:1].lower() not in (b"a", b"t"):
        return "Invalid --open-mode specification"
    if name == "mail-type" and not re.match(rb"[A-Za-z_,0-9 ]+\Z", value):
        return "Invalid --mail-type specification"
    if name == "signal" and not re.match(_SIGNAL, value):
        return "Invalid --signal specification"
    return ""


def _without_digits(name: str, value: bytes) -> str:
    shown = value.decode("utf-8", "backslashreplace")
    if name == "nodes" and re.match(_NO_COUNT, value):
        return '"%s" is not a valid node count' % shown
    if name in _COUNTS and re.match(_NO_COUNT, value):
        return 'Invalid numeric value "%s" for --%s.' % (shown, name)
    if name in _AMOUNTS and value and not re.search(rb"[0-9]", value):
        return "Invalid --%s specification" % name
    if name in _TIMES and re.search(rb"[a-zA-Z]", value) and value.lower() not in _NO_LIMIT:
        return "Invalid --%s specification" % name
    return ""
