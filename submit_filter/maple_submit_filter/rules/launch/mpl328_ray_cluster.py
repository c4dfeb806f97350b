"""A cluster of Ray: one head, workers that find it, and a script that goes on."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...bash.parser import parse
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule

_OWN = re.compile(rb"\0vary:hostname|\Alocalhost\b|\A127\.")
_HOSTNAME = re.compile(rb"\\?\$\(hostname[^()\n]*\)|`hostname[^`\n]*`|\blocalhost\b|127\.0\.0\.1")


@rule("MPL328", "a cluster of Ray that does not come together")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """One node starts `ray start --head`, the others `ray start --address=` with its name, in the background.

    Wrong: srun ray start --head --block &, in a job of several nodes; or --block without & behind it
    Wrong: srun ... bash -c 'ray start --address=$(hostname):6379 --block' &
    Right: srun --nodes=1 --ntasks=1 -w "$head" ray start --head --port=6379 --block &
    Why:   each head is a cluster of its own; a worker looks for the head on its own node; a command that does not
           return keeps the script from what follows. `maple check` shows the change; at submission Maple only reports
           it.
    """
    if b"ray" not in job.source:
        return
    for step in plan.steps:
        if step.program[:2] != (b"ray", b"start") or step.maybe:
            continue
        heads = sum(len(group.processes) for group in step.groups) if b"--head" in step.program else 0
        if heads > 1:
            yield _many_heads(step, heads)
        if b"--block" in step.program and not step.background:
            yield from _stays(step, job.source)
        if b"--block" not in step.program and step.links and step.links[0].name == "srun" and _ends(step):
            says = "without --block the step ends at once, and Slurm kills the Ray that it began"
            yield Finding("MPL328", says, step.span, fixes=_blocking(step, job.source),
                          help="add --block, and & behind the line")  # fmt: skip
        if b"--head" not in step.program and _other_port(step, plan):
            yield Finding("MPL328", "the workers look for the head at another port than it has", step.span,
                          help="give both the same port")  # fmt: skip
        if b"--head" not in step.program and _address_is_own(step):
            yield _own_address(step, plan, job)


def _many_heads(step: Step, heads: int) -> Finding:
    link = step.links[0] if step.links else None
    own = link is not None and not any(link.option(name) for name in ("nodes", "ntasks", "ntasks-per-node"))
    fixes: Tuple[Fix, ...] = ()
    if link is not None and link.name == "srun" and own and link.options_at is not None:
        edit = Edit(Span(link.options_at, link.options_at), b" --nodes=1 --ntasks=1", "MPL328")
        fixes = (Fix((edit,), Safety.ASK, "start the head on one node"),)
    says = "%d heads start, each a cluster of its own" % heads
    return Finding(
        "MPL328", says, step.span, fixes=fixes, help="one head, and workers with --address= on the other nodes"
    )


def _blocking(step: Step, source: bytes) -> Tuple[Fix, ...]:
    """Have `ray start` stay, in the background."""
    start, end = step.span
    word = re.compile(rb"\bray[ \t]+start\b").search(source, start, end)
    if word is None:
        return ()
    edits = [Edit(Span(word.end(), word.end()), b" --block", "MPL328")]
    if not step.background:
        edits.append(Edit(Span(end, end), b" &", "MPL328"))
    return (Fix(tuple(edits), Safety.ASK, "add --block, in the background"),)


def _stays(step: Step, source: bytes) -> Iterator[Finding]:
    """Yield that the command with --block, which ends with the cluster alone, keeps the script waiting."""
    items = [item.command.span for item in parse(source).items]
    around = [span for span in items if span.start <= step.span.start and step.span.end <= span.end]
    behind = [span for span in items if around and span.start >= around[0].end]
    if not behind or around[0].start != step.span.start:
        return
    end = around[0].end
    fix = Fix((Edit(Span(end, end), b" &", "MPL328"),), Safety.ASK, "start it in the background")
    yield Finding("MPL328", "--block keeps the script here until the cluster ends, and what follows never starts",
                  step.span, fixes=(fix,), help="put & behind it")  # fmt: skip


def _ends(step: Step) -> bool:
    """Return whether the command is all that a task does: nothing behind it keeps the task."""
    return len(step.links) == 1 and not step.links[0].quoted and step.links[0].option("het-group") is None


def _other_port(step: Step, plan: LaunchPlan) -> bool:
    heads = [other for other in plan.steps if other.program[:2] == (b"ray", b"start") and b"--head" in other.program]
    _, colon, port = _address(step).rpartition(b":")
    return bool(colon) and port.isdigit() and len(heads) == 1 and _port(heads[0]) not in (b"", port)


def _port(step: Step) -> bytes:
    """Return the port of a head, 6379 where none is said, b"" where it is not known."""
    words = step.program
    for word, value in zip(words, (*words[1:], b"")):
        if word == b"--port" or word.startswith(b"--port="):
            port = word.partition(b"=")[2] or value
            return port if port.isdigit() else b""
    return b"6379"


def _address(step: Step) -> bytes:
    words = list(step.program)
    for index, word in enumerate(words):
        if word.startswith(b"--address="):
            return word[len(b"--address=") :]
        if word == b"--address" and index + 1 < len(words):
            return words[index + 1]
    return b""


def _address_is_own(step: Step) -> bool:
    """Return whether workers of several nodes, or of none that is the head's, look for the head where they are."""
    return bool(_OWN.search(_address(step)))


def _own_address(step: Step, plan: LaunchPlan, job: Job) -> Finding:
    says = "each worker looks for the head on its own node"
    fixes = tuple(_at_head(step, plan, job))
    return Finding("MPL328", says, step.span, fixes=fixes, help="--address= takes the name of the head's node")


def _at_head(step: Step, plan: LaunchPlan, job: Job) -> Iterator[Fix]:
    """Yield the name that the script's own RAY_ADDRESS, or the line of the head, has for the head's node."""
    name = _head_variable(plan, job.source)
    places: List[Span] = [Span(*match.span()) for match in _HOSTNAME.finditer(job.source, *step.span)]
    if name is None or len(places) != 1:
        return
    word = b"$" + name
    quoted = job.source.count(b"'", step.span.start, places[0].start) % 2
    new = b"'\"" + word + b"\"'" if quoted else word
    yield Fix((Edit(places[0], new, "MPL328"),), Safety.ASK, "look for the head on %s" % word.decode())


def _head_variable(plan: LaunchPlan, source: bytes) -> Optional[bytes]:
    """Return the variable that the line of the head names its node with: `-w $head`, `--nodelist=$head`."""
    for step in plan.steps:
        if step.program[:2] == (b"ray", b"start") and b"--head" in step.program:
            match = re.search(rb"(?:-w|--nodelist)[ =]?\"?\$\{?(\w+)\}?", source[step.span.start : step.span.end])
            if match:
                return match.group(1)
    return None
