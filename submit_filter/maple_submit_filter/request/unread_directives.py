"""What lines say that look like directives and are not read."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from ..types.edits import Span
from ..types.job import Job
from .options import read_options
from .scheduler_words import is_pbs
from .slurm.options import SBATCH

_HEAD = re.compile(rb"[ \t]*#[ \t]*!?[ \t]*[A-Za-z]{2,7}:?[ \t]*")


def said_on(job: Job, line: bytes) -> Iterator[Tuple[str, bytes, bytes]]:
    """Yield (name, value, words) of each setting on a line like `# SBATCH -t 1:00:00` or `# PBS -l walltime=1:00:00`.

    None where the line has quotes. What *words* say is one setting, also where the line says it in a list of several.
    """
    match = _HEAD.match(line)
    words = (line[match.end() :] if match else b"").split(b" #")[0].split()
    if any(quote in line for quote in (b'"', b"'", b"\\")):
        return
    if is_pbs(job):
        yield from _said_to_qsub(words)
        return
    for one in read_options(SBATCH, words, 0).said:
        yield one.name, one.value, b" ".join(words[one.at : one.at + one.words])


def _said_to_qsub(words: List[bytes]) -> Iterator[Tuple[str, bytes, bytes]]:
    from .pbs.options import QSUB, RESOURCES, resources  # not on the way of a Slurm job

    for one in read_options(QSUB, words, 0).said:
        if one.name != RESOURCES:
            yield one.name, one.value, b" ".join(words[one.at : one.at + one.words])
            continue
        for item in resources(one.value).items:
            yield item.name.decode("utf-8", "surrogateescape"), item.value, b"-l %s=%s" % (item.name, item.value)


def unheeded(job: Job, span: Span) -> bool:
    """Return whether the line at *span* says something that does not hold anyway."""
    said = list(said_on(job, job.source[span.start : span.end]))
    return not said or any(job.settings.value(name) != value for name, value, _ in said)


def says_anew(job: Job, span: Span) -> bool:
    """Return whether the line at *span* says something that nobody else says.

    One beside a directive that says the same thing otherwise is a value that was tried before, and switched off.
    """
    said = list(said_on(job, job.source[span.start : span.end]))
    return not said or any(name not in job.settings for name, _, _ in said)


def unknown_option(refused: str) -> bool:
    """Return whether sbatch itself does not know an option; a plug-in of the site may (Shifter's --image does)."""
    return refused.startswith(("unrecognized option", "invalid option"))
