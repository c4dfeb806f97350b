"""What a language model finds in a request that the grammar did not: slots, each proven by the request's own words.

The request is data. A model that is deceived by it, or that lies, can do no more than name a value that stands in the
request, as `quoted` wants it, for a slot that the grammar left empty. Without a model, or with a broken one, the
grammar's slots stand.

Whether a value that a model names is said by the request: what it may believe, and what it may not.

The words quoted have to stand in the request, whole, in a sentence that asks for something: not in one that denies,
remembers or supposes. The value has to follow from those words: by the grammar's own reading of them, or, for names
that nobody can know beforehand, letter by letter and beside a word that says what it is a name of.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..ask.models.protocol import Limit, Message, Model, ModelError, Schema, mismatch, of_object
from ..base.secrets.masking import masked
from ..base.slots import INTEGERS, LAUNCHERS, NAMES, PARADIGMS, Name, Origin, Slot, Slots
from .language.vocabulary import pattern, texts

Reads = Callable[[str], Slots]  # the grammar
MOST_QUOTE = 200  # characters

_DOUBTFUL = re.compile(r"(?i)\b(?:%s)\b|n['’]t\b|\?" % pattern(texts("by_model")["doubtful"]))
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

MOST = 8000  # characters of a request that a model is asked about
_TO_A_MODEL = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\W+(?:\w+\W+){0,4}?(?:above|previous|prior|earlier|instructions?|"
    r"rules?|prompts?|everything|before)\b|\bsystem\W{0,3}prompt|\byou are (?:now|an? (?:ai|assistant|model))\b|"
    r"<\|[^|\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|^\s*#{0,4}\s*(?:system|assistant|instruction)s?\s*:|</?request-",
    re.MULTILINE,
)
_WORDS = texts("by_model")
_CHOICES = {"PARADIGMS": ", ".join(PARADIGMS), "LAUNCHERS": ", ".join(LAUNCHERS)}
_CHOICES_IN = re.compile("|".join(_CHOICES))


def read(
    text: str,
    model: Model,
    grammar: Slots,
    *,
    limit: Limit = Limit(),  # noqa: B008
    tell: Callable[[str], None] = lambda line: None,
    reads: Reads | None = None,
) -> Slots:
    """Return the slots of *grammar*, and those that *model* found beside them with `Origin.by` "model".

    Raises nothing for a model that fails: *tell* gets one line. *reads* is the grammar that judges quotes, normally
    that of `request`. The model is not asked where the request is too long, or speaks to the model itself.
    """
    open_slots = [name for name in NAMES if name not in grammar]
    if not open_slots or not text.strip():
        return grammar
    if len(text) > MOST or _TO_A_MODEL.search(text):
        tell(
            "the request is too long for a model"
            if len(text) > MOST
            else "the request speaks to a model; none is asked"
        )
        return grammar
    try:
        answers = _asked(model, text, open_slots, limit)
    except ModelError as error:
        tell(f"{error}; read without it")
        return grammar
    slots = _proven(answers, Evidence(text, reads or _grammar))
    slots = [slot for slot in slots if not _contradicts(grammar.with_more(slots))]
    _tell_left_out(answers, slots, tell)
    return grammar.with_more(slots)


def messages(text: str, names: Iterable[Name]) -> list[Message]:
    """Return what a model is asked: the task with the slots *names*, and the request, masked, between its own marks."""
    shown = masked(text)
    mark = f"request-{hashlib.sha256(shown.encode('utf-8', 'replace')).hexdigest()[:12]}"
    about = (line.partition(": ") for line in _WORDS["about"].strip().splitlines())
    meanings = {name: _CHOICES_IN.sub(lambda word: _CHOICES[word[0]], what) for name, _, what in about}
    task = _WORDS["task"] + "".join(f"- {name}: {meanings[name]}\n" for name in names)
    return [Message("system", task), Message("user", f"<{mark}>\n{shown}\n</{mark}>")]


def _asked(model: Model, text: str, names: Sequence[Name], limit: Limit) -> list[Mapping[str, Any]]:
    """Return what the model says of the slots asked for, each once; of a slot said in two ways, nothing."""
    shape = of_slots(names)
    answer: Any = model.answer(messages(text, names), shape, limit)
    wrong = mismatch(answer, shape)
    if wrong:
        raise ModelError(model.name, wrong)
    by_name = {name: [row for row in answer["slots"] if row["slot"] == name] for name in names}
    return [each[0] for each in by_name.values() if each and len({str(row["value"]) for row in each}) == 1]


def _proven(rows: Iterable[Mapping[str, Any]], evidence: Evidence) -> list[Slot]:
    slots = [evidence.slot(row["slot"], row["value"], row["quote"]) for row in rows]
    return [slot for slot in slots if slot is not None]


def _contradicts(slots: Slots) -> bool:
    nodes, each, total = (slots.number(name) for name in ("nodes", "gpus_per_node", "gpus_total"))
    if nodes is None or total is None:
        return False
    return nodes * each != total if each is not None else total % nodes != 0


def _tell_left_out(rows: Iterable[Mapping[str, Any]], slots: Iterable[Slot], tell: Callable[[str], None]) -> None:
    kept = {slot.name for slot in slots}
    names = [row["slot"] for row in rows if row["slot"] not in kept]
    if names:
        tell(f"left out, since the request does not say what the model read: {', '.join(names)}")


def _grammar(text: str) -> Slots:
    from . import words as request

    return request.read(text).slots


# The shape in which a model says slots: each value with the words that it was read from.

MOST_NUMBER = 100_000
MOST_TEXT = 200  # characters of a value and of a quote


def of_slots(names: Sequence[Name] = NAMES) -> Schema:
    """Return the schema `{"slots": [{"slot", "value", "quote"}]}` for slots of these *names*, at least one.

    Every object lists all its names as required and allows no other, as strict servers demand.
    """
    numbers = [name for name in names if name in INTEGERS]
    words = [name for name in names if name not in INTEGERS]
    kinds = [_of("nodes", numbers)] if numbers else []
    for limited in ("paradigm", "launcher"):
        kinds += [_of(name, [name]) for name in words if name == limited]
    free = [name for name in words if name not in ("paradigm", "launcher")]
    kinds += [_of("program", free)] if free else []
    return of_object({"slots": {"type": "array", "maxItems": len(names), "items": {"anyOf": kinds}}})


def _of(kind: Name, names: Sequence[Name]) -> Schema:
    """Return the shape of one slot out of *names*, all of them with values like those of *kind*."""
    return of_object({"slot": {"type": "string", "enum": list(names)}, "value": _value(kind), "quote": _text()})


def _value(kind: Name) -> Schema:
    if kind in INTEGERS:
        return {"type": "integer", "minimum": 1, "maximum": MOST_NUMBER}
    choices = {"paradigm": PARADIGMS, "launcher": LAUNCHERS}.get(kind)
    return {"type": "string", "enum": list(choices)} if choices else _text()


def _text() -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}


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
        touched = [sentence for sentence in self._sentences if sentence[0] < end and start < sentence[1]]
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
