"""Edits for what the job asks of the scheduler: say an option, take it back, or give it another value where it stands.

Each returns the edits that belong together, or None where they cannot be made: in the environment nothing is changed,
and no line is added to a script.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from .edits import ArgvEdit, Edit, Fix, Span
from .job import Job
from .script import Directive
from .settings import Setting


class Change(NamedTuple):
    """Edits of script and command line that belong together."""

    edits: Tuple[Edit, ...] = ()
    argv_edits: Tuple[ArgvEdit, ...] = ()

    def fix(self, safety: str, says: str) -> Fix:
        """Return the fix that makes this change."""
        return Fix(self.edits, safety, says, self.argv_edits)


def say(job: Job, words: bytes, why: str) -> Change:
    """Say more options: behind the last one of a `#SBATCH` line, or on the command line where there is none."""
    ends = [
        one.origin.span.end
        for directive in job.script.directives
        if directive.prefix == b"#SBATCH"
        for one in directive.settings
        if one.origin.span is not None
    ]
    if ends:
        return Change((Edit(Span(ends[-1], ends[-1]), b" " + words, why),))
    return Change((), (ArgvEdit(0, (job.submission.argv[0], *words.split()), why),))


def unsay(job: Job, name: str, why: str) -> Optional[Change]:
    """Take an option back wherever it is said, so that no weaker place says it either.

    A directive that says nothing else becomes a comment; on a line with others only the option's bytes go.
    """
    edits: List[Edit] = []
    argv_edits: List[ArgvEdit] = []
    for setting in job.settings.all(name):
        if setting.origin.kind == "directive":
            edit = _off_line(job, setting, why)
            if edit is None:
                return None
            edits.append(edit)
        elif setting.origin.kind == "argv" and _own_words(job, setting):
            first = setting.origin.argv_index
            argv_edits += [ArgvEdit(first + more, (), why) for more in range(setting.origin.argv_count)]
        else:
            return None
    return Change(tuple(edits), tuple(argv_edits))


def restate(job: Job, setting: Setting, value: bytes, why: str) -> Optional[Change]:
    """Give the setting in force another value, where it was said."""
    place = setting.origin
    if place.kind == "directive" and place.value_span is not None:
        return Change((Edit(place.value_span, value, why),))
    if place.kind != "argv" or not place.argv_count:
        return None
    last = place.argv_index + place.argv_count - 1
    word = job.submission.argv[last]
    if not setting.value or not word.endswith(setting.value):
        return None
    return Change((), (ArgvEdit(last, (word[: len(word) - len(setting.value)] + value,), why),))


def at(setting: Optional[Setting]) -> Optional[Span]:
    """Return where in the script a setting stands, None where it stands elsewhere."""
    return (setting.origin.span or setting.origin.value_span) if setting is not None else None


def _off_line(job: Job, setting: Setting, why: str) -> Optional[Edit]:
    span = setting.origin.span
    line = _line(job, setting)
    if span is None or line is None or sum(one.origin.span == span for one in line.settings) > 1:
        return None  # one word that says several things, as `#PBS -l` does
    before = job.source[line.span.start + len(line.prefix) : span.start].strip()
    behind = job.source[span.end : line.span.end].strip()
    if not before and (not behind or behind.startswith(b"#")):
        return Edit(Span(line.span.start, line.span.start), b"#", why)
    start = span.start - 1 if job.source[span.start - 1 : span.start] in (b" ", b"\t") else span.start
    return Edit(Span(start, span.end), b"", why)


def _line(job: Job, setting: Setting) -> Optional[Directive]:
    return next((one for one in job.script.directives if setting in one.settings), None)


def _own_words(job: Job, setting: Setting) -> bool:
    """Return whether the words on the command line say this option alone, unlike `-HN2`."""
    word = job.submission.argv[setting.origin.argv_index]
    spelling = setting.origin.spelling
    if spelling.startswith(b"--"):
        return word == spelling or word.startswith(spelling + b"=")
    return word == spelling + (setting.value if setting.origin.argv_count == 1 else b"")
