"""Launchers that are given no script."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...launchers.grammar import place
from ...plan import breach_kinds
from ...plan.groups import dash
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import Breach, LaunchPlan, Step
from .. import rule

CODE = "MPL314"
SAYS = {
    b"none": ("%s gets no script to start", "name the script after the options"),
    b"blank": ("%s gets a blank instead of a script", "name the script after the options"),
    b"node": (
        "%s takes the name of a node for the script",
        "the address has several words: name one node, for example with head -n 1",
    ),
    b"dash": ("%s takes an option for the script, because its dash is not a plain hyphen", ""),
}


@rule("MPL314", "the launcher is given no script to start")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launcher takes the first word that is none of its options for the script, and all behind it for its arguments.

    Wrong: srun torchrun –nproc-per-node=4 train.py, with a dash that came from a web page
    Wrong: torchrun --rdzv-endpoint=$MASTER_ADDR:29500 train.py, where MASTER_ADDR holds the names of all nodes
    Right: srun torchrun --nproc-per-node=4 train.py
    Why:   it ends at once: "the following arguments are required: training_script", or "can't open file". A dash is
           repaired; a script that is not named cannot be guessed.
    """
    breaches = [
        (step, breach) for step in plan.steps for breach in step.breaches if breach.kind == breach_kinds.NO_SCRIPT
    ]
    if not breaches:
        return
    from ..script.continuation import cut_lines

    cut = [line.step for line in cut_lines(plan, job, CODE)]
    for step, breach in breaches:
        if step not in cut:  # which MPL108 speaks of
            yield _finding(step, breach, plan, job)


def _finding(step: Step, breach: Breach, plan: LaunchPlan, job: Job) -> Finding:
    says, help = SAYS[breach.names[0]]
    start, end = breach.numbers.get("start"), breach.numbers.get("end")
    command = Span(start, end) if start is not None and end is not None else step.span
    fix = _hyphens(step) if breach.names == (b"dash",) else None
    fix = _one_node(plan, job) if breach.names == (b"node",) else fix
    fixes = _bare(step, job) if breach.names == (b"none",) else (fix,) if fix is not None else ()
    return Finding(CODE, says % (step.links[-1].name if step.links else "the shell"),
                   place(breach.texts["word"]) or command, True, fixes=fixes, help=help)  # fmt: skip


def _one_node(plan: LaunchPlan, job: Job) -> Optional[Fix]:
    """Keep the first of the names where a variable takes all of them."""
    for spans in plan.assigned.values():
        for span in spans:
            text = job.source[span.start : span.end].rstrip(b"\"'")
            listed = b"scontrol show hostname" in text or b"PBS_NODEFILE" in text
            if listed and text.endswith(b")") and text.count(b"$(") == 1 and b"|" not in text:
                end = span.start + len(text) - 1
                edit = Edit(Span(end, end), b" | head -n 1", CODE)
                return Fix((edit,), Safety.SAFE, "the job's first node is the master")
    return None


def _bare(step: Step, job: Job) -> Tuple[Fix, ...]:
    """Leave out a `bash -c` whose text is not quoted, so that it takes one word only; or quote the text.

    What is escaped in it was meant for that shell, and then only the quotes say so.
    """
    start, end = step.span
    match = re.search(rb"\b(?:bash|sh)[ \t]+-l?c[ \t]+(?=torchrun\b|python3?\b|accelerate\b|deepspeed\b)",
                      job.source[start:end])  # fmt: skip
    if match is None:
        return ()
    text = Span(start + match.end(), end)
    quotes = (Edit(Span(text.start, text.start), b'"', CODE), Edit(Span(end, end), b'"', CODE))
    quoted = Fix(quotes, Safety.ASK, "quote the whole command, of which bash -c takes one word only")
    gone = (Edit(Span(start + match.start(), start + match.end()), b"", CODE),)
    bare = Fix(gone, Safety.ASK, "start it without bash -c, which takes one word only")
    own = job.source[text.start : text.end]
    if b'"' in own or b"`" in own or b"\\\n" in own:
        return (bare,)
    return (quoted, bare) if b"\\$" in own else (bare, quoted)


def _hyphens(step: Step) -> Optional[Fix]:
    """Return the fix that writes plain hyphens in front of each word of the step that begins with another dash."""
    edits = []
    for word, span in zip(step.program, step.program_spans):
        size = dash(word)
        if not size:
            continue
        if span is None or span.end - span.start != len(word):
            return None
        letters = word[size:].partition(b"=")[0]
        plain = b"--" if len(letters) > 1 else b"-"
        edits.append(Edit(Span(span.start, span.start + size), plain, CODE))
    return Fix(tuple(edits), Safety.SAFE, "type the option again with plain hyphens (-)") if edits else None
