"""Lines that tell of training that goes on, and lines that tell of its good end.

Several runs in one file: a log that is appended to, a job that was requeued. Attempts within one job are one run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from ...request.language.vocabulary import alternatives, texts
from .limits import USUAL
from .templates import Screened, template
from .units.voices import Line

FIRST = 10  # lines by whose like a new run begins
_OVER = Screened(
    r"\*\*\* JOB \S+ ON \S+ CANCELLED AT |CANCELLED AT \S+ DUE TO (?:PREEMPTION|JOB REQUEUE|NODE FAILURE)"
    r"|=>> PBS: job killed|PBS: Job (?:has been )?(?:requeued|rerun)"
)
_JOB = re.compile(r"\bjob(?:[ _-]?(?:id|number))?[\s:=#]{1,3}(\d{3,})\b|\bStepId=(\d+)|\b(\d{3,})\.[\w-]*pbs\b", re.I)

_WORDS = texts("progress")
_PROGRESS = Screened(alternatives(_WORDS["progress"]), re.I)
_ALL, _MADE = "(?:%s)" % alternatives(_WORDS["all"]), "(?:%s)s?" % alternatives(_WORDS["made"])
_ENDED = re.compile(alternatives(_WORDS["ended"]).replace("{all}", _ALL).replace("{made}", _MADE), re.I)
_ASKED = re.compile(r"\becho \$\?\s*$")
# That this end was meant: a program that left before its time was over, a server that waited for it.
_PLANNED = re.compile(
    r"\b(?:end|ended|ends|stop|stopped|stops|left|leaves|exit|exited|exits|done|finished)\b.{0,30}\bas planned\b"
    r"|\bplanned (?:end|stop|exit|shutdown)\b|\bexiting program (?:after|at)\b",
    re.I,
)
_EARLY = re.compile(r"\b(?:%s)" % alternatives(_WORDS["early"]), re.I)
_NOT = re.compile(
    r"\b(?:%s)"  # "run ended with 126", of `set -x`
    r"|\b(?:with|code|status|rc)[ :=]+[1-9]\d{0,2}(?=[\s.,;)'\"]*$|[\s,;(]+(?:at|on|after)\b)"
    % alternatives(_WORDS["undone"]),
    re.I,
)
# What a script does beside its work, and ends well whatever became of that.
_CHORE = re.compile(
    r"^\W*(?:rsync|sync\w*|clean\w*|remov\w*|delet\w*|archiv\w*|tempor\w*|tmp|tar|cop(?:y|ies|ying))\b", re.I
)
_OF = re.compile(r"(?:epochs?|steps?|iter\w*)\D{0,4}(\d+)\s*(?:/|of)\s*(\d+)", re.I)
_SURE = re.compile(
    r"train_runtime|Trainer\.fit|max_(?:epochs|steps)=|WorkerState\.SUCCEEDED"
    r"|\b(?:ends|exits|ended|exited) with 0\s*$|\bCOMPLETED\s+0:0\s*$",
    re.I,
)
_OF_WORK = re.compile(
    r"\b(?:(?:pre-?)?train\w*|fine-?tun\w*|evaluat\w*|benchmark|study|sweep|epochs|steps|iterations|model|weights|adapter)\b",
    re.I,
)


_STEPS_OF_JOBS = ("srun: ", "slurmstepd", "sbatch: ", "salloc: ")
_BAR = re.compile(r"(\d+)/(\d+) \[\d+:\d\d")
_BAR_DRAWN = re.compile(rb"\d+/\d+(?= \[\d+:\d\d)")


def bar(text: str) -> str:
    """Return where the last progress bar of *text* stands, "" for none.

    A bar is drawn once more when its process ends: the same place again is no progress.
    """
    bars = _BAR.findall(text) if " [" in text else []
    return "/".join(bars[-1]) if bars else ""


def drawn(line: bytes) -> int:
    """Return how often a bar on *line* moved on, each time drawn over what it was before; its last drawings tell."""
    return max(0, len(set(_BAR_DRAWN.findall(line[-USUAL.raw :]))) - 1) if b"\r" in line else 0


def is_progress(words: str) -> bool:
    """Return whether *words* tell of a step, an epoch, a loss or a speed; a scheduler's step is a part of the job."""
    return _PROGRESS.search(words) is not None and not words.startswith(_STEPS_OF_JOBS)


# Training that is told in columns, without a word for it: lines that differ by numbers alone, a count that goes on
# evenly and a measured value beside it. What counts ranks, nodes or files tells how a job begins.

_SERIES = 8  # lines
_COUNT = re.compile(r"^\W{0,6}(\d{1,9})(?![\d.:/-])")
_MEASURED = re.compile(r"\d\.\d|\de[-+]\d")
_COUNTED = re.compile(
    r"\b(?:ranks?|nodes?|workers?|gpus?|devices?|process(?:es)?|tasks?|hosts?|shards?|files?|parts?|layers?)\b", re.I
)


def counting(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of the lines that are a count with measured values, each like the one before it."""
    alike: dict[str, list[tuple[int, int]]] = {}
    for line in lines:
        count = _COUNT.match(line.words) if line.sort is None and _MEASURED.search(line.words) else None
        if count is not None and not _COUNTED.search(line.words) and not _EARLY.search(line.words):
            alike.setdefault(" ".join(template(line.words).split()), []).append((line.number, int(count[1])))
    return frozenset(number for rows in alike.values() if _is_steady(rows) for number, _ in rows)


def _is_steady(rows: Sequence[tuple[int, int]]) -> bool:
    strides = [later - count for (_, count), (_, later) in zip(rows, rows[1:])]
    return len(rows) >= _SERIES and min(strides) > 0 and strides.count(strides[0]) >= 0.8 * len(strides)


def is_sure_end(words: str) -> bool:
    """Return whether a trainer itself says that it went to its end, not the script round it."""
    return _SURE.search(words) is not None and _says_done(words)


def is_of_work(words: str) -> bool:
    """Return whether a line names what was trained or done, as a program does; a script says "done"."""
    return _OF_WORK.search(words) is not None


def ended_well(words: Sequence[str]) -> str:
    """Return the line of *words*, lines at the end of a log, that says best that all is done; "" for none.

    A trainer's own word is better than one of the work, and that better than a script's; of equals the last.
    """
    pairs = zip(("", *words), words)
    ends = [word for before, word in pairs if _says_done(word) or _is_status(before, word)]
    return max(reversed(ends), key=lambda word: (is_sure_end(word), is_of_work(word)), default="")


def _is_status(before: str, words: str) -> bool:
    """Return whether a shell was asked how the last command ended, and says 0."""
    return words.strip() == "0" and _ASKED.search(before) is not None


# What a script prints at its end whatever became of its program: when that was.
_STAMP = re.compile(
    r"^\W*(?:(?:job|run|script|program|task|batch)\b.{0,20})?\b(?:ended|ends?|finished|finish|completed|done|stopped)\b"
    r" ?(?:time|date)? ?(?:at|on|@|:|=)+ ?.{0,40}\d\d?:\d\d",
    re.I,
)


def is_stamp(words: str) -> bool:
    """Return whether a line of a good end only says when that was: so does the end of a script whose program failed."""
    return _STAMP.search(words) is not None and _SURE.search(words) is None


def planned(words: Sequence[str]) -> str:
    """Return the last of *words*, lines at the end of a log, that says that its end was meant; "" for none."""
    return next((word for word in reversed(words) if _PLANNED.search(word) and not _NOT.search(word)), "")


def _says_done(words: str) -> bool:
    if not (_ENDED.search(words) or _PLANNED.search(words)) or _NOT.search(words):
        return False
    if (_EARLY.search(words) or _CHORE.search(words)) and not _SURE.search(words):
        return False
    counted = _OF.search(words)
    return counted is None or int(counted[1]) >= int(counted[2])


def starts(lines: Sequence[Line]) -> list[int]:
    """Return the numbers of the lines with which the second and every later run begins.

    Such a line is like one of the first of the file, numbers aside; and before it a scheduler said that the job is
    over, or it names another job and something went wrong since the first was named.
    """
    banners = _banners(lines)
    named = any(job for _, job in banners.values())
    numbers: list[int] = []
    over = wrong = False
    for line in lines:
        if line.sort is not None:
            wrong, over = True, over or _OVER.search(line.text) is not None
        elif over or wrong and named:
            like, job = template(line.words.strip()), _job(line.words)
            first, before = banners.get(like, (line.number, ""))
            if first < line.number and (over or job and before and job != before):
                numbers.append(line.number)
                banners[like], over, wrong = (first, job), False, False
    return numbers


def _banners(lines: Sequence[Line]) -> dict[str, tuple[int, str]]:
    """Return templates of the first lines, with the number of each and the job that it names."""
    plain = (line for line in lines if line.sort is None and line.words[:1].strip() and not is_progress(line.words))
    banners: dict[str, tuple[int, str]] = {}
    for line in islice(plain, FIRST):
        banners.setdefault(template(line.words.strip()), (line.number, _job(line.words)))
    return banners


def run_of(begun: Sequence[int], number: int) -> int:
    """Return which run line *number* is of, 0 for the first."""
    return bisect_right(begun, number)


def _job(text: str) -> str:
    match = _JOB.search(text)
    return next(filter(None, match.groups()), "") if match else ""
