"""A signal before the time limit, who gets it, and what a script runs in its foreground while a trap of it waits."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...bash.questions import first, simples
from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_ENDS_IT = (b"exec", b"timeout")  # the first is no child of the script any more, the second ends in time


class Foreground(NamedTuple):
    """A launch line that the script stands still for, and the command of the list that holds it."""

    step: Step
    command: Span
    whole: bool  # the command is the launch line, or a pipe of it: an `&` may stand behind


def stood_still_for(program: nodes.Program, steps: Sequence[Step], trap: Span) -> List[Foreground]:
    """Return launch lines behind the trap in the foreground; none where anything is waited for or may be short.

    Lines in loops and functions, and those that may not run, are no answer either.
    """
    behind = [step for step in steps if step.span.start > trap.end]
    if _waits(program):
        return []
    out: List[Foreground] = []
    for item in program.items:
        held = [step for step in behind if _within(step.span, item.command.span) and not step.background]
        if not held or item.background:
            continue
        if isinstance(item.command, (nodes.Loop, nodes.Function)) or held[0].maybe or _ended(item.command):
            return []
        whole = isinstance(item.command, (nodes.Simple, nodes.Pipeline)) and len(held) == 1
        out.append(Foreground(held[0], item.command.span, whole))
    return out


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _ended(node: object) -> bool:
    return any(first(word).rsplit(b"/", 1)[-1] in _ENDS_IT for word in _words(node))


def _waits(program: nodes.Program) -> bool:
    """Return whether the script waits anywhere, in words or in rounds of a loop around `sleep`."""
    words = [first(word) for word in _words(program)]
    return b"wait" in words or b"kill" in words and b"-0" in words


def _words(node: object) -> List[nodes.Word]:
    return [word for command in simples(node) for word in command.words]


_VALUE = re.compile(rb"(?:([A-Z]*):)?(?:SIG)?([A-Z]+\d?|\d{1,2})(?:@\d+)?\Z", re.IGNORECASE)
_TRAP = re.compile(rb"trap[ \t]+(?:--[ \t]+)?('[^']*'|\"[^\"]*\"|[^\s'\"]+)[ \t]+([\w \t]+)")
_NUMBERS = {b"10": b"USR1", b"12": b"USR2", b"15": b"TERM", b"1": b"HUP", b"2": b"INT"}
_NO_HANDLER = (b"''", b'""', b"-")


@rule("MPL115", "the signal before the time limit does not reach the script's trap", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch --signal tells the job's steps alone; the batch script, where its trap waits, is told with B: in front.

    Wrong: #SBATCH --signal=USR1@300, and in the script: trap requeue USR1
    Right: #SBATCH --signal=B:USR1@300
    Wrong: srun python train.py, in the foreground of a script that traps the signal
    Right: srun python train.py & wait $! || wait $!
    Why:   the trap never runs, so nothing is requeued, and USR1 ends a program that does not handle it before the
           checkpoint is written. bash runs a trap when the command in its foreground has ended; `wait` is interrupted.
           `maple check` shows the change; at submission Maple only reports it: the program may handle the signal too.
    """
    setting = job.settings.get("signal")
    match = _VALUE.match(setting.value) if setting is not None else None
    trap = _trap(_name(match.group(2)), job.source) if match is not None else None
    if setting is None or match is None or trap is None:
        return
    if b"B" in (match.group(1) or b"").upper():
        yield from _too_late(plan, job, trap)
        return
    value = b"B:" + setting.value if match.group(1) is None else b"B" + setting.value
    made = restate(job, setting, value, "MPL115")
    fixes = (made.fix(Safety.ASK, "--signal=" + value.decode("ascii", "replace")),) if made is not None else ()
    says = "--signal=%s is sent to the steps, not to the script, whose trap waits for it in line %d" % (
        setting.value.decode("ascii", "replace"), job.source.count(b"\n", 0, trap.start) + 1)  # fmt: skip
    yield Finding("MPL115", says, at(setting) or trap, fixes=fixes, help="B: in front sends it to the batch script")


def _too_late(plan: LaunchPlan, job: Job, trap: Span) -> Iterator[Finding]:
    """Tell of a trap that the signal reaches while the script stands still for its launch line."""
    held = stood_still_for(parse(job.source), plan.steps, trap)
    if not held:
        return
    step, command, whole = held[-1]
    edit = Edit(Span(command.end, command.end), b" & wait $! || wait $!", "MPL115")
    fixes = (Fix((edit,), Safety.ASK, "wait for it in the background"),) if whole and len(held) == 1 else ()
    says = "the trap of line %d waits until this has ended: bash runs none beside a command in its foreground" % (
        job.source.count(b"\n", 0, trap.start) + 1)  # fmt: skip
    yield Finding(
        "MPL115", says, step.span, fixes=fixes, help="start it with & and wait $!, which the signal interrupts"
    )


def _name(signal: bytes) -> bytes:
    return _NUMBERS.get(signal, signal).upper()


def _trap(signal: bytes, source: bytes) -> Optional[Span]:
    """Return the batch script's own command that handles the signal: what a here-document holds is another script's."""
    for start, end in _commands(source) if b"trap" in source else ():
        match = _TRAP.match(source, start, end)
        if match is None or match.group(1) in _NO_HANDLER:
            continue
        names = [_name(word.upper().removeprefix(b"SIG")) for word in match.group(2).split()]
        if signal in names:
            return Span(start, end)
    return None


def _commands(source: bytes) -> Iterator[Tuple[int, int]]:
    for item in parse(source).items:
        yield item.command.span.start, item.command.span.end
