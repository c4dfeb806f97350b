"""A launcher that the site advises against."""

from __future__ import annotations

from typing import Iterator

from ...launchers.registry import foreign
from ...site.facts import Site
from ...types.edits import Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from .mpl307_absent_launcher import replaced, said_of


@rule("MPL308", "the site advises against this launcher")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launcher may be there and still be the wrong one.

    Wrong: mpirun -np 8 python train.py, on Lonestar6
    Right: ibrun python train.py
    Why:   the site's pages say which launcher its fabric and scheduler were set up for. Where a launch template of the
           site has the same numbers its words are offered; the line may run as it stands, so it is not changed unasked.
    """
    reported = set()
    for step in plan.steps:
        for index, link in enumerate(step.links):
            fact = said_of(link, site)
            if (
                fact is None
                or fact.state != "discouraged"
                or fact.name in reported
                or foreign(link.argv[0].raw, link.around)
            ):
                continue
            reported.add(fact.name)
            there = site.preferred()
            better = "use %s, the launcher of this site" % there[0] if there else ""
            fix = replaced(step, index, link, job.source, site) if not step.maybe else None
            own = fix is None or fix.edits[0].new.split()[0] != fact.name.encode()
            yield Finding("MPL308", "the site advises against %s" % fact.name, link.name_span or step.span,
                          fixes=(fix._replace(safety=Safety.ASK),) if fix is not None and own else (),
                          help=fact.says or better, site_fact=fact.key)  # fmt: skip
