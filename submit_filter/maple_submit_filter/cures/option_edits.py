"""Edits for what the job asks of the scheduler: say an option, take it back, or give it another value where it stands.

Each returns the edits that belong together, or None where they cannot be made: in the environment nothing is changed,
and no line is added to a script. What a change comes to is not believed but read again: `repair` does that.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from ..request.scheduler_words import is_pbs, prefix
from ..types.edits import ArgvEdit, Edit, Fix, Span
from ..types.job import Directive, Job, Setting


class Change(NamedTuple):
    """Edits of script and command line that belong together."""

    edits: Tuple[Edit, ...] = ()
    argv_edits: Tuple[ArgvEdit, ...] = ()

    def fix(self, safety: str, says: str) -> Fix:
        """Return the fix that makes this change."""
        return Fix(self.edits, safety, says, self.argv_edits)

    def __add__(self, other: object) -> "Change":
        """Return both changes as one."""
        if not isinstance(other, Change):
            return NotImplemented
        return Change(self.edits + other.edits, self.argv_edits + other.argv_edits)


def say(job: Job, words: bytes, why: str) -> Change:
    """Say more options: behind the last one of a directive, or on the command line where there is none.

    qsub takes nothing in a directive but options, so there the line must end with one, and must not go on in the next.
    """
    wanted = prefix(job).encode("utf-8", "surrogateescape")
    ends = [_end(job, directive) for directive in job.script.directives if directive.prefix == wanted]
    written = [end for end in ends if end >= 0]
    if written:
        return Change((Edit(Span(written[-1], written[-1]), b" " + words, why),))
    return Change((), (ArgvEdit(0, (job.submission.argv[0], *words.split()), why),))


def _end(job: Job, line: Directive) -> int:
    """Return where the last option of a directive ends, -1 where none may stand behind it."""
    end = max((setting.origin.span.end for setting in line.settings if setting.origin.span is not None), default=-1)
    goes_on = b"\n" in job.source[line.span.start : line.span.end]
    return -1 if is_pbs(job) and (goes_on or job.source[end : line.span.end].strip()) else end


def unsay(job: Job, name: str, why: str) -> Optional[Change]:
    """Take an option back wherever it is said, so that no weaker place says it either.

    A directive that says nothing else becomes a comment; on a line with others only the option's bytes go, and out of
    a list (`-l a=1,b=2`) only its item.
    """
    made = Change()
    for setting in job.settings.all(name):
        change = _unsaid(job, setting, why)
        if change is None:
            return None
        made += change
    return made


def _unsaid(job: Job, setting: Setting, why: str) -> Optional[Change]:
    place = setting.origin
    if place.kind == "directive":
        edit = _off_line(job, setting, why)
        return Change((edit,)) if edit is not None else None
    if place.kind != "argv":
        return None
    if place.spelling in (b"-l", b"-W") and is_pbs(job):
        return _off_list(job, setting, why)
    if not _own_words(job, setting):
        return None
    return Change((), tuple(ArgvEdit(place.argv_index + more, (), why) for more in range(place.argv_count)))


def restate(job: Job, setting: Setting, value: bytes, why: str) -> Optional[Change]:
    """Give the setting in force another value, where it was said."""
    place = setting.origin
    if place.kind == "directive" and place.value_span is not None:
        return Change((Edit(place.value_span, value, why),))
    if place.kind != "argv" or not place.argv_count:
        return None
    if place.spelling in (b"-l", b"-W") and is_pbs(job):
        return _in_list(job, setting, value, why)
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
    if span is None or line is None or b"\n" in job.source[line.span.start : line.span.end]:
        return None
    if sum(other.origin.span == span for other in line.settings) > 1:
        return _out_of_list(job, setting, why)  # one word that says several things, as `#PBS -l` does
    start = job.source.index(line.prefix, line.span.start)
    before = job.source[start + len(line.prefix) : span.start].strip()
    behind = job.source[span.end : line.span.end].strip()
    if not before and (not behind or behind.startswith(b"#")):
        off = not (b"#" + line.prefix).startswith(line.prefix)  # a prefix of one's own may be `#` itself
        return Edit(Span(start, start), b"#", why) if off and line.prefix.startswith(b"#") else None
    start = span.start - 1 if job.source[span.start - 1 : span.start] in (b" ", b"\t") else span.start
    return Edit(Span(start, span.end), b"", why)


def _out_of_list(job: Job, setting: Setting, why: str) -> Optional[Edit]:
    """Take `name=value` and one comma out of a list of PBS; nothing where quotes or blanks stand about it."""
    place = setting.origin
    if not is_pbs(job) or place.value_span is None or place.span is None:
        return None
    name = setting.name.encode("utf-8", "surrogateescape") + b"="
    start, end = place.value_span.start - len(name), place.value_span.end
    if job.source[start : place.value_span.start] != name:
        return None
    before, behind = job.source[start - 1 : start], job.source[end : min(end + 1, place.span.end)]
    if before == b"," and behind in (b"", b","):
        return Edit(Span(start - 1, end), b"", why)
    return Edit(Span(start, end + 1), b"", why) if behind == b"," and before in (b" ", b"l", b"W") else None


def _off_list(job: Job, setting: Setting, why: str) -> Optional[Change]:
    """Take `name=value` off a `-l` or `-W` of qsub's command line, or the whole option where it says nothing else."""
    place = setting.origin
    item = _items(job, setting)
    if item is None:
        return None
    head, items, index = item
    if len(items) == 1:
        return Change((), tuple(ArgvEdit(place.argv_index + more, (), why) for more in range(place.argv_count)))
    word = head + b",".join(items[:index] + items[index + 1 :])
    return Change((), (ArgvEdit(place.argv_index + place.argv_count - 1, (word,), why),))


def _in_list(job: Job, setting: Setting, value: bytes, why: str) -> Optional[Change]:
    place = setting.origin
    item = _items(job, setting)
    if item is None:
        return None
    head, items, index = item
    items[index] = items[index].partition(b"=")[0] + b"=" + value
    return Change((), (ArgvEdit(place.argv_index + place.argv_count - 1, (head + b",".join(items),), why),))


def _items(job: Job, setting: Setting) -> Optional[Tuple[bytes, List[bytes], int]]:
    """Return what stands before the list, its items, and which of them says the setting; None where that is unclear."""
    place = setting.origin
    word = job.submission.argv[place.argv_index + place.argv_count - 1]
    head = b"" if place.argv_count > 1 else place.spelling
    own = setting.name.encode("utf-8", "surrogateescape") + b"=" + setting.value
    items = word[len(head) :].split(b",")
    bundled = place.argv_count > 1 and job.submission.argv[place.argv_index] != place.spelling
    if not word.startswith(head) or bundled or items.count(own) != 1:
        return None
    return head, items, items.index(own)


def _line(job: Job, setting: Setting) -> Optional[Directive]:
    return next((directive for directive in job.script.directives if setting in directive.settings), None)


def _own_words(job: Job, setting: Setting) -> bool:
    """Return whether the words on the command line say this option alone, unlike `-HN2`."""
    word = job.submission.argv[setting.origin.argv_index]
    spelling = setting.origin.spelling
    if spelling.startswith(b"--"):
        return word == spelling or word.startswith(spelling + b"=")
    return word == spelling + (setting.value if setting.origin.argv_count == 1 else b"")
