"""A remote shell that eats the list which its loop reads."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_LOOP = (  # made into an expression where there is a loop
    rb"(?ms)^[ \t]*(?:[^#\n]*\|[ \t]*)?while\b[^\n]*?\bread\b(?P<head>[^\n]*)(?P<body>.*?)"
    rb"\bdone\b(?P<tail>[^\n]*)"
)
_REMOTE = (
    rb"(?:(?<=\bdo)[ \t]+|(?<=[;&|\n])[ \t]*)(?P<name>ssh|pbs_tmrsh|srun)(?=[ \t])"
    rb"(?P<rest>(?:\"[^\"]*\"|'[^']*'|\\\n|[^;\n])*)"
)


@rule("MPL336", "what a loop starts reads the loop's own list")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """ssh, pbs_tmrsh and srun read standard input, and inside of `while read` that is the list of the loop.

    Wrong: while read h; do ssh $h "torchrun ..."; done < hosts
    Right: while read h; do ssh -n $h "torchrun ..." & done < hosts; wait
    Why:   the first one swallows the other lines: the loop ends after one node. What runs in the background (&) of a
           script reads nothing. `maple check` shows the change; at submission Maple only reports it.
    """
    remote = any(name in job.source for name in (b"ssh ", b"pbs_tmrsh ", b"srun "))
    if b"while" not in job.source or b"read" not in job.source or not remote:
        return
    for loop in re.finditer(_LOOP, job.source):
        if not re.search(rb"<|\|[ \t]*while", job.source[loop.start() : loop.start("head")] + loop.group("tail")):
            continue
        if re.search(rb"-u[ \t]*\d|<&\d", loop.group()):
            continue  # the list comes by another descriptor
        for match in re.compile(_REMOTE).finditer(job.source, loop.start("head"), loop.end("body")):
            rest = re.sub(rb"\"[^\"]*\"|'[^']*'", b"", match.group("rest"))
            if re.search(rb"<|(?:^|[ \t])-(?:n|f|nf|fn)[ \t]|--input[= ]|(?<![&>])&(?!&)", rest):
                continue  # it reads nothing: told so, or in the background
            name, at = match.group("name"), match.end("name")
            words = b" -n" if name == b"ssh" else b" --input=none" if name == b"srun" else b""
            fixes = (Fix((Edit(Span(at, at), words, "MPL336"),), Safety.ASK, (name + words).decode()),) if words else ()
            yield Finding("MPL336", "%s reads the list of the loop, which ends after the first line" % name.decode(),
                          Span(*match.span("name")), fixes=fixes, help="have it read nothing: < /dev/null")  # fmt: skip
            return
