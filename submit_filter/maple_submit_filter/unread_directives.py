"""What lines say that look like directives and are not read."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from .edits import Span
from .job import Job
from .schedulers.options import read_options
from .schedulers.sbatch_options import SBATCH

_HEAD = re.compile(rb"[ \t]*#[ \t]*[A-Za-z]{5,7}[ \t]*")


def said_on(line: bytes) -> Iterator[Tuple[str, bytes, bytes]]:
    """Yield (long name, value, words) of each option on a line like `# SBATCH -t 1:00:00`; none where it has quotes."""
    match = _HEAD.match(line)
    words = (line[match.end() :] if match else b"").split(b" #")[0].split()
    if any(quote in line for quote in (b'"', b"'", b"\\")):
        return
    for one in read_options(SBATCH, words, 0).said:
        yield one.name, one.value, b" ".join(words[one.at : one.at + one.words])


def unheeded(job: Job, span: Span) -> bool:
    """Return whether the line at *span* says something that does not hold anyway."""
    said = list(said_on(job.source[span.start : span.end]))
    return not said or any(job.settings.value(name) != value for name, value, _ in said)


def unknown_option(refused: str) -> bool:
    """Return whether sbatch itself does not know an option; a plug-in of the site may (Shifter's --image does)."""
    return refused.startswith(("unrecognized option", "invalid option"))
