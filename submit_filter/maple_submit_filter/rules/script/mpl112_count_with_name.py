"""A count of lines with the name of the file behind it."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_COUNTED = re.compile(rb"=[\"']?(?:\$\(|`)[ \t]*wc[ \t]+-l[ \t]+([^|<>)`\s]+)[ \t]*(?:\)|`)[\"']?\Z")


@rule("MPL112", "a count that has the file's name behind it")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """wc prints the name of each file that it is given, and none where it reads from standard input.

    Wrong: NODES=$(wc -l $PBS_NODEFILE); RANKS=$((NODES * 4))
    Right: NODES=$(wc -l < $PBS_NODEFILE)
    Why:   the value is "2 /var/spool/pbs/aux/4711": bash ends the sum with a syntax error. Maple mends it unasked where
           the script computes with it, for no other value was meant.
    """
    if b"wc -l" not in job.source:
        return
    source = joined(job.source)
    for name, spans in plan.assigned.items():
        for span in spans:
            match = _COUNTED.search(source[span.start : span.end])
            if match is not None and re.search(rb"\$\(\([^)\n]*\b%s\b" % re.escape(name), source):
                at = Span(span.start + match.start(1), span.start + match.start(1))
                fix = Fix((Edit(at, b"< ", "MPL112"),), Safety.SAFE, "count without the name")
                says = "%s holds a number and the name of the file, and is computed with" % name.decode()
                yield Finding("MPL112", says, span, True, fixes=(fix,), help="wc -l < FILE prints the number alone")
