"""Whether a value that a model names is said by the request: what it may believe, and what it may not.

The words quoted have to stand in the request, whole, in a sentence that asks for something: not in one that denies,
remembers or supposes. The value has to follow from those words: by the grammar's own reading of them, or, for names
that nobody can know beforehand, letter by letter and beside a word that says what it is a name of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ...base.slots import Name, Origin, Slot, Slots

Reads = Callable[[str], Slots]  # the grammar
MOST_QUOTE = 200  # characters

_DOUBTFUL = re.compile(
    r"(?i)\b(?:not|never|no|without|instead|rather|except|unless|if|whether|than|previous(?:ly)?|last|earlier|yesterday|"
    r"ago|was|were|had|did|used|failed|crashed|died|before|old|former|another|others?|example|perhaps|maybe|might|e\.g|"
    r"would|ignore|disregard|forget|overrid\w*|pretend)\b|n['’]t\b|\?"
)
_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")
_NAME = re.compile(r"(?!(?i:the|my|our|your|this|that|it|is|an?|to|on|of|in|for|and|same|default|usual|any|one)$)"
                   r"[A-Za-z0-9][\w.@+-]{1,63}")  # fmt: skip
_MODEL = re.compile(r"(?=[^\s]*[A-Za-z])(?=[^\s]*[\d/-])[A-Za-z0-9][\w./-]{2,95}")
_PROGRAM = re.compile(
    r"(?:(?:python3?(?:\.\d+)?|torchrun|\S*/python3?)\s+(?:-\w+\s+)*\S.*|[\w./-]+\.(?:py|sh)(?:\s.*)?)"
)
_SHELL = re.compile(r"[;|&<>`$\\(){}\x00-\x1f\x7f]")  # a model's words never become more than one command
_IMAGE = re.compile(
    r"[\w./~-]+\.(?:sif|sqsh|img)|(?:docker|oras|library|shub)://[\w./:@-]+|[\w.-]+(?:/[\w.-]+)+:[\w.-]+"
)


class _Free(NamedTuple):
    """A slot whose values nobody can list: their form, and the words of which one has to stand beside the value."""

    form: re.Pattern[str]
    beside: re.Pattern[str] | None = None


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(r"(?i)(?<!\w)(?:" + "|".join(words) + r")(?!\w)")


_FREE: Mapping[Name, _Free] = {
    "account": _Free(
        _NAME, _words("accounts?", "acct", "project", "allocation", "charged?", "bill", "budget", "grant")
    ),
    "partition": _Free(_NAME, _words("partition")),
    "queue": _Free(_NAME, _words("queue")),
    "qos": _Free(_NAME, _words("qos", "quality of service")),
    "model": _Free(
        _MODEL, _words("models?", r"fine-?tun\w+", r"(?:pre-?)?train\w*", "checkpoint", "weights", "tune", "llm")
    ),
    "program": _Free(_PROGRAM),
    "container": _Free(_IMAGE),
}


class Evidence:
    """A request, and what the grammar reads in its parts."""

    def __init__(self, text: str, reads: Reads) -> None:
        self._text, self._reads = text, reads
        self._sentences = list(_sentences(text))
        self._said = [reads(text[start:end]) for start, end in self._sentences]

    def slot(self, name: Name, value: int | str, quote: str) -> Slot | None:
        """Return the slot that the *quote* says, None where it does not say this *value* or may not be believed."""
        start = self._place(quote)
        if start is None or self._says_another(name, value):
            return None
        origin = Origin("model", quote, start, start + len(quote))
        read = self._reads(quote).get(name)
        if read is not None:
            return Slot(name, read.value, origin) if str(read.value) == str(value).strip() else None
        return Slot(name, str(value), origin) if self._is_said(name, value, quote) else None

    def _place(self, quote: str) -> int | None:
        """Return where *quote* stands, whole words of it, in a sentence that asks."""
        if not quote.strip() or len(quote) > MOST_QUOTE:
            return None
        for start in _places(quote, self._text):
            sentence = self._around(start, start + len(quote))
            if sentence and not _DOUBTFUL.search(sentence):
                return start
        return None

    def _around(self, start: int, end: int) -> str:
        """Return the sentences that hold the characters from *start* to *end*."""
        touched = [one for one in self._sentences if one[0] < end and start < one[1]]
        return self._text[touched[0][0] : touched[-1][1]] if touched else ""

    def _says_another(self, name: Name, value: int | str) -> bool:
        """Return whether some sentence says another value for the slot: then nobody knows which is meant."""
        values = {str(slots[name].value) for slots in self._said if name in slots}
        return bool(values - {str(value).strip()})

    def _is_said(self, name: Name, value: int | str, quote: str) -> bool:
        free = _FREE.get(name)
        if free is None or not isinstance(value, str) or not free.form.fullmatch(value) or _SHELL.search(value):
            return False
        places = list(_places(value, quote))
        if not places:
            return False
        rest = quote[: places[0]] + " " + quote[places[0] + len(value) :]
        return free.beside is None or free.beside.search(rest) is not None


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence starts and ends; a line is at most one."""
    start = 0
    for gap in _ENDS.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _places(part: str, text: str) -> Iterator[int]:
    """Yield where *part* stands in *text* and cuts no word and no number: not `4 nodes` in `14 nodes`."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if not _cuts(text[max(0, start - 2) : start], part[0]) and not _cuts(text[end : end + 2][::-1], part[-1]):
            yield start
        start = text.find(part, start + 1)


def _cuts(beyond: str, edge: str) -> bool:
    """Return whether a word goes on over the edge. *beyond*: the two characters outside, the nearer one last."""
    if not beyond or not (edge.isalnum() or edge == "_"):
        return False
    near = beyond[-1]
    return near.isalnum() or near == "_" or (near in ".,:/-@+" and len(beyond) == 2 and beyond[0].isalnum())
