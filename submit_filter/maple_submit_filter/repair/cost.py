"""What a cure costs its reader, and whether it asks for less of nodes, time and memory.

Of cures that are proven and leave all as it was meant, the plainest is taken. A
cost counts characters. What a person of the site would not have written is dear: a shell of its own around a command,
a number that a variable of the script already holds, a line that no terminal shows whole, a request whose numbers the
script reads again for something else.

An offer may ask for less where that is the one thing that it is about. Beside other changes it would be taken with
them, by somebody who reads the first line.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

from ..request.scheduler_words import is_pbs
from ..request.slurm import values
from ..types.edits import Edit, Fix, Safety, Span
from ..types.job import Job

WIDEST = 120  # columns of a line that still reads at one glance
_LEVEL, _LITERAL, _WIDE, _READ = 60, 20, 40, 120  # characters that each is worth
_READS = re.compile(rb"\$\{?SLURM_(?:NTASKS(?:_PER_NODE)?|NPROCS|TASKS_PER_NODE|CPUS_PER_TASK)\b")
_SHELL = re.compile(rb"\b(?:ba)?sh -c\b|\\\$")
_NUMBER = re.compile(rb"(?<![\w.$-])\d{1,6}(?![\w.])")
_DIRECTIVES = (b"#SBATCH", b"#PBS")  # no variable is expanded there
_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
Assigned = Mapping[bytes, Tuple[Span, ...]]
Price = Tuple[int, int]


def cost(fix: Fix, source: bytes, assigned: Assigned) -> int:
    """Return what a fix costs, in characters: those that it changes, and what each thing above is worth."""
    held = {
        source[span.start : span.end].partition(b"=")[2].strip(b"\"'") for spans in assigned.values() for span in spans
    }
    return sum(_of_edit(edit, source, held) for edit in fix.edits) + sum(
        len(word) for edit in fix.argv_edits for word in edit.new
    )


def shells(fix: Fix, source: bytes) -> int:
    """Return how many more shells and backslashes stand between the script and what it starts."""
    return sum(_levels(edit, source[edit.span.start : edit.span.end]) for edit in fix.edits)


def price(fix: Fix, source: bytes, assigned: Assigned) -> Price:
    """Return what a fix is held against others by: no shell in between comes before any number of characters."""
    return shells(fix, source), cost(fix, source, assigned)


def _levels(edit: Edit, old: bytes) -> int:
    return max(len(_SHELL.findall(edit.new)) - len(_SHELL.findall(old)), 0)


def _of_edit(edit: Edit, source: bytes, held: "set[bytes]") -> int:
    old = source[edit.span.start : edit.span.end]
    line = source[source.rfind(b"\n", 0, edit.span.start) + 1 : edit.span.end].lstrip()
    asked = line.startswith(_DIRECTIVES)
    literals = 0 if asked else sum(number in held for number in _NUMBER.findall(edit.new))
    dear = _LEVEL * _levels(edit, old) + _LITERAL * literals + _WIDE * _is_wide(edit, source)
    return len(edit.new) + len(old) + dear + _READ * (asked and _READS.search(source) is not None)


def _is_wide(edit: Edit, source: bytes) -> int:
    """Return 1 where the line grows beyond what reads at one glance, and was not beyond it before."""
    start, end = source.rfind(b"\n", 0, edit.span.start) + 1, source.find(b"\n", edit.span.end)
    before = (end if end >= 0 else len(source)) - start
    return int(before <= WIDEST < before + len(edit.new) - (edit.span.end - edit.span.start))


def plainest_first(fixes: Iterable[Fix], source: bytes, assigned: Assigned) -> List[Fix]:
    """Return fixes with what is done unasked in the order of their price, so that the first that is proven is plainest.

    Each of them costs a play of the script. Offers stay as they are: which is meant is no question of words. Ways that
    say the same stay together: the likeliest stands first, and what it costs counts for all.
    """
    out: List[Fix] = []
    for safety, run in groupby(fixes, key=lambda fix: fix.safety):
        alike = [list(group) for _, group in groupby(run, key=lambda fix: fix.says)]
        if safety == Safety.SAFE:
            alike.sort(key=lambda group: price(group[0], source, assigned))
        out += [fix for group in alike for fix in group]
    return out


def asks_for_less(before: Job, after: Job) -> bool:
    """Return whether *after* names less of anything that *before* names; what is not said any more is none of it."""
    had, has = _amounts(before), _amounts(after)
    return any(has[name] < amount for name, amount in had.items() if name in has)


def _amounts(job: Job) -> Dict[str, int]:
    amounts = _of_qsub(job) if is_pbs(job) else _of_sbatch(job)
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _of_sbatch(job: Job) -> Dict[str, Optional[int]]:
    nodes = values.nodes(job.settings.value("nodes") or b"")
    amounts = {name: values.mebibytes(job.settings.value(name) or b"") or None for name in _MEMORY}  # 0 is all there is
    return {"nodes": nodes[0] if nodes else None, "time": values.seconds(job.settings.value("time") or b""), **amounts}


def _of_qsub(job: Job) -> Dict[str, Optional[int]]:
    from ..play.pbs_allocation import chunks_of
    from ..request.pbs import select

    chunks = chunks_of(job.settings)
    memory = [select.size(chunk.value(b"mem") or b"") for chunk in chunks]
    known = [size * chunk.count for chunk, size in zip(chunks, memory) if size is not None]
    return {
        "nodes": sum(chunk.count for chunk in chunks) if chunks else None,
        "time": select.seconds(job.settings.value("walltime") or b""),
        "mem": sum(known) if chunks and len(known) == len(chunks) else None,
    }
