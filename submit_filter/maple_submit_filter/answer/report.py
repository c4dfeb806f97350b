"""Findings as plain text: what is wrong and where, the line itself, and what to do.

`maple check` prints it, and so does the front on a terminal. Scripts are data: whatever stands in one, nothing but
printable characters comes out, and no line begins as one of the scheduler's own would.
"""

from __future__ import annotations

import unicodedata
from typing import Callable, Iterator, List, Sequence, Tuple, Union

from ..types.edits import Safety
from ..types.findings import Finding, sentence
from ..types.job import line_of

Raw = Union[bytes, str]
Fate = Callable[[Finding], str]

ERROR, ADVICE = "error", "advice"
FIXED = "fixed automatically"

# A script may bear the name of a command, and other programs read lines that begin "sbatch: ".
COMMANDS = ("sbatch", "srun", "salloc", "scancel", "qsub", "slurmctld")
MARGIN = len("   7 | ")
MOST_LEFT = 6  # that the last line names


def _no_fate(finding: Finding) -> str:
    return ""


def report(
    findings: Sequence[Finding],
    source: bytes,
    name: Raw,
    fate: Fate = _no_fate,
    width: int = 100,
    most: int = 50,
) -> Tuple[str, ...]:
    """Return the lines that tell of *findings* in *source*: errors first, then advice, each in the order of places.

    At most *most* findings are told. *fate* says what becomes of a finding's best fix. *width* bounds the excerpts,
    not the sentences.
    """
    ordered = in_order(findings)
    lines = [line for finding in ordered[:most] for line in tell(finding, source, name, fate, width)]
    if len(ordered) > most:
        lines.append("and %d more" % (len(ordered) - most))
    return tuple(lines)


def in_order(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings as people should read them: what is proven first, then by place."""
    return sorted(findings, key=lambda finding: (not finding.proven, finding.at.start if finding.at else -1))


def severity(finding: Finding) -> str:
    """Return the word for how bad a finding is: "error" where it is proven that the job goes wrong, else "advice"."""
    return ERROR if finding.proven else ADVICE


def tell(finding: Finding, source: bytes, name: Raw, fate: Fate = _no_fate, width: int = 100) -> Iterator[str]:
    """Yield the lines of one finding: the sentence, the place, and what to do."""
    where = place(name)
    if finding.at is not None:
        where += ":%d" % line_of(source, finding.at.start)
    yield "%s: %s %s %s" % (where, severity(finding), finding.code, printable(finding.says))
    if finding.at is not None:
        yield from excerpt(source, finding.at.start, finding.at.end, width)
    yield advice(finding, fate(finding))
    for change in finding.elsewhere:
        yield "the change belongs in %s, line %d, which stays as it is:" % (printable(change.file), change.line)
        yield from ("  - " + printable(change.was), "  + " + printable(change.becomes))


def safety(finding: Finding) -> str:
    """Return how far the best fix of a finding may go by itself; TELL where there is none."""
    return finding.fixes[0].safety if finding.fixes else Safety.TELL


def advice(finding: Finding, fate: str = "") -> str:
    """Return the line that ends a finding: the fix and what becomes of it (*fate*), and where more is said."""
    parts = [fate or finding.fixes[0].says] if finding.fixes or fate else []
    if finding.help and not fate.startswith(FIXED):
        parts.append(finding.help)
    if not parts and finding.asks_for:
        parts.append("only you know the %s" % finding.asks_for)
    parts = [printable(part) for part in parts]
    parts[1:] = [sentence(part) for part in parts[1:]]
    ending = "".join(part + " " if part.endswith("?") else part.rstrip(".") + ". " for part in parts)
    return "help: %sMore: maple explain %s" % (ending, finding.code)


def excerpt(source: bytes, start: int, end: int, width: int = 100) -> Tuple[str, str]:
    """Return the line that byte *start* stands on, numbered, and carets under the bytes up to *end* on that line.

    A line wider than *width* is cut to the part around the carets.
    """
    first = source.rfind(b"\n", 0, start) + 1
    last = source.find(b"\n", start)
    last = len(source) if last < 0 else last
    end = min(max(end, start), last)
    far = 8 * width  # bytes further off than this are cut anyway, and a line may be megabytes long
    near = ((max(first, start - far), start), (start, min(end, start + far)), (end, min(last, end + far)))
    before, marked, after = (_shown(source[a:b]) for a, b in near)
    before, marked, after = _cut(before, marked, after.rstrip(), max(width - MARGIN, 20))
    number = "%4d | " % line_of(source, start)
    carets = " " * columns(before) + "^" * max(columns(marked), 1)
    return number + before + marked + after, " " * (len(number) - 2) + "| " + carets


def _shown(raw: bytes) -> str:
    return printable(raw.replace(b"\t", b"    ").replace(b"\r", b""))


def _cut(before: str, marked: str, after: str, room: int) -> Tuple[str, str, str]:
    """Return the three parts within *room* columns: the marked one first, then what stands around it."""
    if columns(before + marked + after) <= room:
        return before, marked, after
    if columns(marked) > room - 2:
        return "", _head(marked, room), ""
    before = _tail(before, max((room - columns(marked)) // 2, room - columns(marked) - columns(after)))
    return before, marked, _head(after, room - columns(before + marked))


def _head(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    while text and columns(text) > room - 1:
        text = text[: min(len(text) - 1, room)]
    return text + "…" if room > 0 else ""


def _tail(text: str, room: int) -> str:
    return _head(text[::-1], room)[::-1]


def columns(text: str) -> int:
    """Return how many columns of a terminal *text* takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def printable(raw: Raw) -> str:
    """Return *raw* with everything that a terminal would obey, or hide, written out as an escape."""
    text = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def place(name: Raw) -> str:
    """Return a script's name as the begin of a line: printable, and not to be mistaken for the scheduler's words."""
    shown = printable(name)
    return "./" + shown if shown.split(":")[0].strip() in COMMANDS else shown


CALLS, GLUE = ("maple-fix ", "maple check ", "maple explain "), "\0"


def words_of(text: str) -> List[str]:
    """Return the words between blanks; a call of Maple's and what it is about are one, for it is copied."""
    for call in CALLS:
        text = text.replace(call, call.replace(" ", GLUE))
    return [word.replace(GLUE, " ") for word in text.split(" ")]


def folded(text: str, width: int, indent: str = "  ") -> List[str]:
    """Return *text* as lines of at most *width* columns, broken at blanks; a longer word has a line of its own.

    All lines but the first begin with *indent*, and blanks at the beginning are kept.
    """
    words = words_of(text.lstrip(" "))
    lines = [text[: len(text) - len(text.lstrip(" "))] + words[0]]
    for word in words[1:]:
        if columns(lines[-1]) + 1 + columns(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(indent + word)
    return lines


def summary(
    verdict: str, errors: int, hints: int = 0, why: str = "", offered: int = 0, left: Sequence[str] = (), gone: int = 0
) -> str:
    """Return the one line that ends a report: "1 error, fixed as shown; 1 piece of advice; left to you: MPL505".

    *offered*: how many of them a change on offer would cure. *left*: what nothing cures that is made or on offer.
    *gone*: how much of the advice is cured with the errors. An unread script was left alone, and the line says why.
    """
    if verdict == "unread":
        return "left alone: %s" % printable(why or "what would start could not be read")
    counts = []
    if errors:
        counts.append(_count(errors, "error", "errors") + (", fixed as shown" if verdict == "repaired" else ""))
    if hints:
        counts.append(_count(hints, "piece of advice", "pieces of advice") + (", %d cured too" % gone if gone else ""))
    if offered:
        counts.append("%d with a change on offer" % offered)
    if left:
        more = ["and %d more" % (len(left) - MOST_LEFT)] if len(left) > MOST_LEFT else []
        counts.append("left to you: " + ", ".join([*left[:MOST_LEFT], *more]))
    return "; ".join(counts) or "nothing found"


def _count(number: int, single: str, many: str) -> str:
    return "%d %s" % (number, single if number == 1 else many)
