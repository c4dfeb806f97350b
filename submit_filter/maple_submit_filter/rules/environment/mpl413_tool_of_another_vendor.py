"""Commands that ask the driver of another maker's GPUs."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged

CODE = "MPL413"
_TOOLS = {b"nvidia-smi": "nvidia", b"rocm-smi": "amd", b"amd-smi": "amd", b"rocminfo": "amd", b"xpu-smi": "intel"}
_USED = re.compile(
    rb"(?m)^(?![ \t]*#)[^\n]*?(?P<whole>\$\([ \t]*(?P<tool>nvidia-smi|rocm-smi|amd-smi|rocminfo|xpu-smi)\b[^()\n]*\)"
    rb"|`[ \t]*(?P<other>nvidia-smi|rocm-smi|amd-smi|rocminfo|xpu-smi)\b[^`\n]*`)"
)
_COUNTS = re.compile(rb"\|[ \t]*(?:wc[ \t]+-l|grep[ \t]+-c\b)[^|]*[)`]\Z|--query-gpu=count")


@rule("MPL413", "a command of another maker's GPUs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """nvidia-smi, rocm-smi and xpu-smi come with the drivers of one maker, and are nowhere else.

    Wrong: NGPUS=$(nvidia-smi -L | wc -l), on the Intel GPUs of Aurora or the AMD GPUs of Frontier
    Right: NGPUS=12
    Why:   the command is not found, the count is 0 or empty, and the launcher is asked for no rank. What only shows in
           the log (nvidia-smi on a line of its own) is left alone. `maple check` shows the number of GPUs of a node.
    """
    kinds = [kind for kind in plan.allocation.node_kinds if kind.gpus]
    vendors = {kind.gpu_vendor for kind in kinds}
    if not judged(job, site) or len(vendors) != 1 or "" in vendors or not _asked(job.source):
        return
    for match in _USED.finditer(joined(job.source)):
        tool = match.group("tool") or match.group("other")
        if _TOOLS[tool] in vendors or b"command -v" in match.group():
            continue
        says = "%s is not on nodes with GPUs of %s" % (tool.decode(), next(iter(vendors)))
        fix = _number(match, {kind.gpus for kind in kinds})
        yield Finding(CODE, says, Span(*match.span("whole")), fixes=(fix,) if fix is not None else (),
                      help="write the number, or ask with a command that is there")  # fmt: skip
        return


def _asked(source: bytes) -> bool:
    return b"-smi" in source or b"rocminfo" in source


def _number(match: "re.Match[bytes]", counts: "set[Optional[int]]") -> Optional[Fix]:
    """Write the number of a node's GPUs for what counts them."""
    count = counts.pop() if len(counts) == 1 else None
    if not count or not _COUNTS.search(match.group("whole")):
        return None
    edit = Edit(Span(*match.span("whole")), b"%d" % count, CODE)
    return Fix((edit,), Safety.ASK, "%d, the GPUs of a node" % count)
