"""A scheduler that is a module, and is taken away."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_PURGE = re.compile(rb"(?m)^[ \t]*(?:module[ \t]+(?:-\w+[ \t]+)?purge|ml[ \t]+purge)\b")
_LOAD = re.compile(rb"(?m)^[ \t]*(?:module[ \t]+(?:load|add|swap|restore|reset|use)|ml)\b([^#\n]*)")
_BACK = re.compile(
    rb"(?m)^[ \t]*(?:module[ \t]+(?:restore|reset)|ml[ \t]+(?:restore|reset))\b|\b(?:source|eval)\b|^[ \t]*\.[ \t]"
)
_SAID = re.compile(rb"\b(?:echo|printf|e?grep)\b[^|;&\n()`]*")  # words that are printed or looked for load nothing


@rule("MPL407", "module purge takes the scheduler's commands away", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where Slurm itself is a module, `module purge` takes srun and scontrol away until it is loaded again.

    Wrong: module purge; module load gpu ... srun python train.py, on Expanse
    Right: module purge; module load slurm; module load gpu ... srun python train.py
    Why:   bash says: srun: command not found. Maple asks first: another module may bring Slurm with it, or a profile
           have put srun on PATH.
    """
    module = site.scheduler_module.encode()
    if not module or b"purge" not in job.source:
        return
    source = joined(job.source)
    purges = list(_PURGE.finditer(source))
    used = [step.span.start for step in plan.steps if step.links and step.links[0].name == "srun" and not step.maybe]
    if not purges or not used or purges[-1].end() > used[0]:
        return
    last = purges[-1]
    between = _SAID.sub(b"", source[last.end() : used[0]])
    if re.search(rb"(?m)^[^#\n]*(?<![\w/.-])%s(?![\w.-])" % re.escape(module), between) or _BACK.search(between):
        return
    if any(b"$" in module for module in _LOAD.findall(between)) and re.search(
        rb"=[^#\n]*(?<![\w/.-])%s(?![\w.-])" % re.escape(module), source
    ):
        return
    edit = Edit(Span(last.end(), last.end()), b"; module load " + module, "MPL407")
    says = "%s is a module here: after this, srun is not found" % module.decode()
    fix = Fix((edit,), Safety.ASK, "load %s again" % module.decode())
    yield Finding("MPL407", says, Span(last.start(), last.end()), fixes=(fix,), site_fact="modules")
