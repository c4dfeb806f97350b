"""One edit of a script after which a finding is gone: tried by making it and judging the whole script again.

What may be edited is a value that stands in the script: how tasks are dealt, to which cores they are bound, a setting
of the network. An offer is shown, and never made unasked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from .check import Judged, tasks_of
from .crossings import Finding
from .node import resources
from .topology import Hardware

Edit = tuple[Span, bytes]
Again = Callable[[bytes], Sequence[Judged]]  # judges the script with other bytes
_DIRECTIVE = re.compile(rb"(?m)^#SBATCH[ \t]+(?:--distribution(?:=|[ \t]+)|-m[ \t]*=?)([\w:=,]+)")
_VALUE = re.compile(rb"=[\"']?([\w:;,. -]*?)[\"']?(?=[\s;&|]|\Z)")
_NAMED = re.compile(r"([A-Z][A-Z0-9_]+)=(\w+)")
_DEALT = {"distribution": b"block", "map-by": b"slot", "rank-by": b"slot"}
_SETTINGS = {"MPICH_RANK_REORDER_METHOD": b"1", "MPICH_OFI_NIC_POLICY": b"GPU", "NCCL_IB_DISABLE": b"0",
             "NCCL_P2P_DISABLE": b"0", "NVSHMEM_DISABLE_P2P": b"0"}  # fmt: skip


class Offer(NamedTuple):
    """A line of the script as it stands, and as it would be."""

    line: int
    old: str
    new: str


def offers(
    lines: Sequence[Judged], plan: LaunchPlan, source: bytes, hardware: Hardware, again: Again
) -> dict[Finding, Offer]:
    """Return the edit of each finding that has one: the finding is then gone, and nothing else is found."""
    findings = [finding for line in lines for finding in line.findings]
    made: dict[Finding, Offer] = {}
    for finding in findings:
        for edit in _edits(finding, plan, source, hardware):
            new = source[: edit[0].start] + edit[1] + source[edit[0].end :]
            after = [later for line in again(new) for later in line.findings]
            if len(after) < len(findings) and not any(_same(later, finding) for later in after):
                made[finding] = _shown(source, edit)
                break
    return made


def _same(finding: Finding, other: Finding) -> bool:
    return (finding.kind, finding.line) == (other.kind, other.line)


def _edits(finding: Finding, plan: LaunchPlan, source: bytes, hardware: Hardware) -> Iterator[Edit]:
    """Yield what may cure a finding, the likeliest first."""
    step = next((step for step in plan.steps if step.line == finding.line and step.links), None)
    if finding.kind == "groups" and step is not None:
        yield from _of_dealing(step, source)
    if finding.kind in ("cores", "far") and step is not None:
        yield from _of_binding(step, plan, source, hardware)
    yield from _of_settings(finding, plan, source)


def _of_dealing(step: Step, source: bytes) -> Iterator[Edit]:
    """Yield the word that deals tasks in turn, as one that fills the nodes."""
    for option in (option for link in step.links for option in link.options if option.name in _DEALT):
        if option.value_span is not None:
            yield option.value_span, _DEALT[option.name]
    for match in _DIRECTIVE.finditer(source):
        yield Span(*match.span(1)), b"block"


def _of_binding(step: Step, plan: LaunchPlan, source: bytes, hardware: Hardware) -> Iterator[Edit]:
    """Yield cores near their GPUs in place of those that a launcher's list names."""
    option = next((value for link in reversed(step.links) if (value := link.option("cpu-bind")) is not None), None)
    node = tasks_of(step, plan, source, hardware)
    if option is None or option.value_span is None or node is None:
        return
    shares = resources.shares([task.gpus[0] if len(task.gpus) == 1 else None for task in node.tasks], hardware)
    lists = ":".join(resources.some(sorted(share)) for share in shares)
    masks = ",".join(f"{sum(1 << cpu for cpu in share):#x}" for share in shares)
    if shares:
        by_mpi = step.links[0].name == "mpiexec"
        yield option.value_span, (f"list:{lists}" if by_mpi else f"mask_cpu:{masks}").encode()


def _of_settings(finding: Finding, plan: LaunchPlan, source: bytes) -> Iterator[Edit]:
    """Yield another value of the variable that a finding or its cause names, where the script sets it once."""
    values = {name: value.encode() for name, value in _NAMED.findall(finding.cure)}
    for name, _ in _NAMED.findall(finding.says + " " + finding.cause):
        new = values.get(name, _SETTINGS.get(name))
        spans = plan.assigned.get(name.encode(), ())
        match = _VALUE.search(source, spans[0].start, spans[0].end) if len(spans) == 1 and new is not None else None
        if match is not None and new is not None:
            yield Span(*match.span(1)), new


def _shown(source: bytes, edit: Edit) -> Offer:
    """Return the line that an edit is in, before and after."""
    span, new = edit
    start, end = source.rfind(b"\n", 0, span.start) + 1, source.find(b"\n", span.end)
    end = end if end >= 0 else len(source)
    old = source[start:end]
    changed = source[start : span.start] + new + source[span.end : end]
    return Offer(line_of(source, span.start), old.decode("utf-8", "replace"), changed.decode("utf-8", "replace"))
