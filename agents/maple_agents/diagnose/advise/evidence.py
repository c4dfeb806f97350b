"""What of a job a model may see: lines of its logs, each with its place, bounded, masked, and speaking to nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...base.secrets.masking import masked
from ..values import Diagnosis, Digest, Event, Evidence, Severity, Stream

MOST = 9000  # characters of all lines together
LINE = 300  # characters of one of them
OF_EVENT = 8  # lines of one event, the telling one among them
FIRST, LAST = 24, 10  # events from the beginning and from the end
TAIL = 12  # last lines of a file
FILES = 6
# Words to a model: they are never shown to one.
TO_A_MODEL = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass|discard)\W+(?:\w+\W+){0,5}?(?:above|previous|prior|earlier|"
    r"instructions?|rules?|prompts?|everything|before)\b|\bsystem\W{0,3}prompt|"
    r"\b(?:you are|act as) (?:now |an? |the )*(?:ai\b|assistant|model\b|language model|expert|debugger|root)|"
    r"\bas an? (?:ai|llm|assistant|language model)\b|"
    r"\b(?:new|updated|real|actual|important) (?:system )?instructions?\b|"
    r"\b(?:answer|respond|reply|output|return|choose|select|report|say|classify|diagnose)\W+(?:\w+\W+){0,4}?(?:with|as|"
    r"json|cause|class|fix|candidate|only)\b|<\|[^|\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?think>|"
    r"^\W{0,4}(?:system|assistant|instruction|user|human|developer)s?\s*:|</?(?:evidence|log)-|"
    r"\b(?:dear|attention|note to|hey|hello|dearest)\W+(?:the )?(?:ai\b|assistant|model\b|llm|maple)|"
    r'"(?:causes|class|fix|quotes|says)"\s*:',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines that a model sees. *files*: paths by the short names that it knows them by.

    *lines*: texts by short name and number. *withheld*: how many lines spoke to a model, and were left out.
    """

    files: dict[str, str] = field(default_factory=dict)
    lines: dict[tuple[str, int], str] = field(default_factory=dict)
    withheld: int = 0

    def text(self) -> str:
        """Return the lines as they are shown, each behind its place."""
        return "\n".join("%s:%d| %s" % (file, number, line) for (file, number), line in self.lines.items())

    def line(self, file: str, number: int, quote: str) -> Evidence | None:
        """Return the line that *quote* stands in letter by letter, None where it stands nowhere there."""
        line = self.lines.get((file, number))
        return Evidence(self.files[file], number, line) if line is not None and quote in line else None


def evidence(diagnosis: Diagnosis, digest: Digest) -> Shown:
    """Return what is shown of the logs: the evidence of the candidates first, then events and ends in their order."""
    chosen: dict[tuple[str, int], str] = {}
    room, withheld = MOST, 0
    for path, number, text in _rows(diagnosis, digest):
        line = masked(text)[:LINE]
        if (path, number) in chosen or not line.strip():
            continue
        if TO_A_MODEL.search(line):
            withheld += 1
            continue
        if len(line) > room:
            break
        room -= len(line) + 8
        chosen[path, number] = line
    names = {path: "f%d" % place for place, path in enumerate(dict.fromkeys(path for path, _ in chosen), 1)}
    ordered = sorted(chosen, key=lambda chosen_line: (list(names).index(chosen_line[0]), chosen_line[1]))
    return Shown(
        {name: path for path, name in names.items()},
        {(names[path], number): chosen[path, number] for path, number in ordered},
        withheld,
    )


def _rows(diagnosis: Diagnosis, digest: Digest) -> Iterator[tuple[str, int, str]]:
    for cause in diagnosis.causes:
        yield from ((evidence.file, evidence.line, evidence.text) for evidence in cause.evidence)
    yield from ((evidence.file, evidence.line, evidence.text) for evidence in diagnosis.excerpt)
    for event in _chosen(digest.events):
        yield from _of_event(event)
    for stream in _loudest(digest.streams):
        yield from _tail(stream)


def _chosen(events: Sequence[Event]) -> list[Event]:
    bad = [event for event in events if event.severity >= Severity.WARNING] or list(events)
    return bad if len(bad) <= FIRST + LAST else [*bad[:FIRST], *bad[-LAST:]]


def _of_event(event: Event) -> Iterator[tuple[str, int, str]]:
    yield event.place.file, event.place.line, event.text
    rows = [(event.place.file, at, line) for at, line in zip(event.unit_at, event.unit) if at != event.place.line]
    yield from rows[-OF_EVENT:]


def _loudest(streams: Sequence[Stream]) -> list[Stream]:
    read = [stream for stream in streams if stream.tail]
    return sorted(read, key=lambda stream: (stream.file.role not in ("stderr", "both"), -stream.lines))[:FILES]


def _tail(stream: Stream) -> Iterator[tuple[str, int, str]]:
    rows = [(stream.file.path, stream.tail_from + at, line) for at, line in enumerate(stream.tail)]
    yield from rows[-TAIL:]
