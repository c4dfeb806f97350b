"""A launcher that the site does not have."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...launchers.rank_words import of_site
from ...launchers.registry import AGENTS, foreign
from ...play.program_owner import IMAGE
from ...site.facts import LauncherFact, LaunchTemplate, Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan, Link, Step
from .. import rule
from ..limits import judged

# Launchers of a scheduler's own, whose they are, and under which others they may be met.
_WHOSE = {
    b"jsrun": ("LSF", ()), b"lrun": ("LSF", ()), b"blaunch": ("LSF", ()), b"qrsh": ("Grid Engine", ()),
    b"aprun": ("Cray's ALPS", ("pbs",)), b"runjob": ("Blue Gene", ()), b"poe": ("IBM's Parallel Environment", ()),
    b"srun": ("Slurm", ("slurm",)), b"pbsdsh": ("PBS", ("pbs",)), b"pbs_tmrsh": ("PBS", ("pbs",)),
}  # fmt: skip
# At the begin of a line: what stands indented may be one of the ways of a script for several clusters.
_STARTED = (
    rb"(?m)^(?:time[ \t]+|exec[ \t]+|nohup[ \t]+)?(srun|jsrun|lrun|blaunch|qrsh|aprun|runjob|poe|pbsdsh|pbs_tmrsh)[ \t]"
)


@rule("MPL307", "the site has no such launcher")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A launch line can only begin with a launcher that is there.

    Wrong: ibrun torchrun --nnodes=2 --nproc-per-node=4 train.py, on Delta
    Right: srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 train.py
    Wrong: jsrun -n 8 -r 4 python train.py, in a job of Slurm; aprun, pbsdsh, blaunch
    Why:   ibrun is TACC's own: elsewhere the shell says command not found. The words that take its place come from the
           launch templates; they are taken without asking where the template was verified for this site. A launcher of
           another scheduler is only reported: a wrapper of that name may be there.
    """
    for step in plan.steps:
        inside = next((link for link in step.links if link.name == "srun" and IMAGE in link.around), None)
        if inside is not None and not step.maybe:
            says, at = "srun is looked for in the image, and few images have it", inside.name_span or step.span
            fixes = _out_of_image(step, inside, job)
            yield Finding("MPL307", says, at, fixes=fixes, help="srun in front, and the container behind it")
        for index, link in enumerate(step.links):
            fact = said_of(link, site)
            if fact is not None and fact.state == "absent":
                yield _finding(step, index, link, fact, plan, job, site)
    yield from _of_other_schedulers(plan, job, site)


_INSIDE = re.compile(rb"(?<=[\"' \t;&|])(srun(?:[ \t]+-[^\s\"']+)*[ \t]+)")
_OF_JOB = re.compile(rb"(?m)^#SBATCH[ \t]+--container-(?:image|mounts|workdir|name|writable)\b")
_RUNS_IMAGE = (b"apptainer", b"singularity", b"shifter", b"podman-hpc")


def _out_of_image(step: Step, srun: Link, job: Job) -> Tuple[Fix, ...]:
    """Start the container by srun, in place of srun in the container; or take the job's own container away."""
    of_job = [match.start() for match in _OF_JOB.finditer(job.source)]
    if of_job and srun.option("container-image") is not None:
        edits = tuple(Edit(Span(start, start), b"#", "MPL307") for start in of_job)
        return (Fix(edits, Safety.ASK, "the batch script itself outside the image"),)
    at, inside = step.span.start, _INSIDE.search(job.source, step.span.start, step.span.end)
    if inside is None or job.source[at : step.span.end].split(None, 1)[0] not in _RUNS_IMAGE or inside.start(1) == at:
        return ()
    moved = Edit(Span(at, at), inside.group(1), "MPL307"), Edit(Span(*inside.span(1)), b"", "MPL307")
    return (Fix(moved, Safety.ASK, "srun in front, and the container behind it"),)


def _of_other_schedulers(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that a command starts what only another scheduler's jobs can start."""
    if not any(word in job.source for word in _WHOSE):
        return
    named = {launcher_fact.name.encode() for launcher_fact in site.launchers}
    source = joined(job.source)
    for match in re.finditer(_STARTED, source):
        word = match.group(1)
        whose, unless = _WHOSE[word]
        if not site.launchers and word != b"srun":
            continue  # nobody has described the cluster
        if word not in named and job.submission.scheduler not in unless and not _brought(word, source):
            ours, usual = ("PBS", "mpiexec") if job.submission.scheduler == "pbs" else ("Slurm", "srun")
            instead = (site.preferred() or [usual])[0]
            says = "%s is the launcher of %s, and this is a job of %s" % (word.decode(), whose, ours)
            yield Finding("MPL307", says, Span(*match.span(1)), help="use %s, the launcher here" % instead)
            return


def _brought(word: bytes, source: bytes) -> bool:
    """Return whether the script asks for a command before it uses it, or makes one of that name."""
    asked = rb"(?:command[ \t]+-v|which|type|hash|alias)[ \t]+%s\b|\b%s[ \t]*\(\)" % (word, word)
    return re.search(asked, source) is not None


def said_of(link: Link, site: Site) -> Optional[LauncherFact]:
    """Return what the site file says of the launcher as it is written; None for one named by a path of its own."""
    word = link.argv[0].raw if link.argv else b""
    return next((launcher_fact for launcher_fact in site.launchers if launcher_fact.name.encode() == word), None)


def _finding(step: Step, index: int, link: Link, fact: LauncherFact, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    brought = foreign(fact.name.encode(), link.around) or b"PATH" in plan.assigned
    proven = judged(job, site) and not step.maybe and not brought
    fix = replaced(step, index, link, job.source, site) if proven else None
    there = site.preferred()
    return Finding("MPL307", "%s is not available at this site" % fact.name, link.name_span or step.span, proven,
                   fixes=(fix,) if fix is not None else (),
                   help="use %s, the launcher here" % there[0] if there else "", site_fact=fact.key)  # fmt: skip


def replaced(step: Step, index: int, link: Link, source: bytes, site: Site) -> Optional[Fix]:
    """Return the fix by the template whose slots are those of this line, the site's preferred launcher first."""
    inner = step.links[index + 1].name if index + 1 < len(step.links) else "python"
    span = _own_words(link)
    if index > 0 or link.open or link.option("o") is not None or span is None:
        return None
    order = {"preferred": 0, "present": 1}
    for launch_template in sorted(site.launch_templates, key=lambda made: order.get(site.launcher(made.over), 2)):
        words = _filled(launch_template, step) if launch_template.launcher == inner else None
        if words is not None:
            because = "%s revision %d" % (launch_template.name, launch_template.revision)
            own = _own_numbers(source, Span(span.end, step.span.end), because, site, link)
            sure = launch_template.verified and not own and not foreign(words.split()[0], link.around)
            safety = Safety.SAFE if sure else Safety.ASK
            return Fix((Edit(span, words, because), *own), safety, "start it with: %s" % words.decode())
    return None


def _own_numbers(source: bytes, where: Span, because: str, site: Site, link: Link) -> Tuple[Edit, ...]:
    """Return edits by which the rest of the line asks the site's mpiexec, and not Slurm, for a task's own numbers."""
    words = of_site(site, link) if site.scheduler == "pbs" else None
    if words is None:
        return ()
    names = {b"PROCID": words.rank, b"LOCALID": words.local, b"NODEID": words.node, b"NTASKS": words.tasks}
    matches = re.finditer(rb"(?<=[$\{])SLURM_(PROCID|LOCALID|NODEID|NTASKS)\b", source[where.start : where.end])
    return tuple(
        Edit(Span(where.start + match.start(), where.start + match.end()), names[match.group(1)], because)
        for match in matches
        if names[match.group(1)]
    )


def _own_words(link: Link) -> Optional[Span]:
    """Return where the launcher and its options stand, None where they do not stand in the script one for one."""
    spans = [text.span() for text in link.argv]
    first, last = (spans[0], spans[-1]) if spans else (None, None)
    return Span(first.start, last.end) if first is not None and last is not None and None not in spans else None


def _filled(launch_template: LaunchTemplate, step: Step) -> Optional[bytes]:
    """Return the template's words with the numbers of the step; None where one is not known, or the layout differs."""
    if launch_template.launcher in AGENTS and step.tasks != step.nodes:
        return None  # it starts one task a node; whether that was meant is not for this rule to say
    numbers = {"{job.nodes}": step.nodes, "{job.tasks}": step.tasks, "{job.tasks_per_node}": step.tasks_per_node}
    words = launch_template.words
    for slot, number in numbers.items():
        if slot in words and number is None:
            return None
        words = words.replace(slot, str(number))
    return None if "{" in words else words.encode()
