"""Folders that the nodes of the job do not have."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Span
from ...types.findings import Finding
from ...types.job import Job, in_comment, joined
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged


@rule("MPL605", "a folder that the nodes do not have")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A file system may be there on some nodes of a cluster, and not on others.

    Wrong: cd /expanse/lustre/projects/abc123, in the partition nairr-gpu of Expanse, whose nodes do not mount it
    Right: data and code on a file system that these nodes have
    Why:   cd: No such file or directory, and the program is not found. Where else the files are is yours to say, so
           there is nothing to change here. A line that tests for the folder is left alone.
    """
    kinds = plan.allocation.node_kinds
    lacking = set(kinds[0].not_mounted).intersection(*(kind.not_mounted for kind in kinds)) if kinds else set()
    if not judged(job, site):
        return
    source = joined(job.source)
    for folder in sorted(lacking):
        name = folder.encode()
        for match in re.finditer(rb"(?<![\w/.-])%s(?=/|\b)" % re.escape(name), source) if name in source else ():
            line = source[source.rfind(b"\n", 0, match.start()) + 1 : match.start()]
            if not in_comment(source, match.start()) and not re.search(rb"\[|\btest\b|\bif\b|\belif\b", line):
                yield Finding("MPL605", "%s is not mounted on the nodes of %s" % (folder, plan.allocation.partition),
                              Span(*match.span()), help="keep code and data where these nodes can read them",
                              site_fact="node.%s" % kinds[0].name)  # fmt: skip
                return
