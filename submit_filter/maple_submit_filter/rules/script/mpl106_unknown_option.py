"""Options that sbatch does not know."""

from __future__ import annotations

from typing import Iterator

from ...launchers import srun_options
from ...request.slurm.options import SBATCH
from ...request.unread_directives import unknown_option
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..spelling import option_alike


@rule("MPL106", "sbatch knows no such option", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A directive with an option that sbatch does not know is refused, unless a plug-in of the site knows it.

    Wrong: #SBATCH --gpu-per-node=4, --ntasks_per_node=4, --cpuspertask=8, --time:01:00:00
    Right: #SBATCH --gpus-per-node=4
    Wrong: #SBATCH --cpu-bind=cores, which is an option of srun
    Right: srun --cpu-bind=cores python train.py
    Why:   sbatch says: unrecognized option. Maple speaks of it where one letter makes it an option that there is, or
           where srun has it: no plug-in calls its own like that (they bring --image, or --container-image), so that no
           job runs with it as written, and the one that is meant is written unasked. Of several it offers the first.
    """
    if not unknown_option(job.script.refused):
        return
    for oddity in job.script.oddities:
        if oddity.kind != "refused" or not unknown_option(oddity.says):
            continue
        written = job.source[oddity.span.start : oddity.span.end].split(b"=")[0].lstrip(b"-")
        word = written.decode("utf-8", "replace")
        if _is_sruns(word):
            yield _of_srun(word, oddity.span, plan, job)
            continue
        colon = word.find(":")
        if colon > 0 and written[:colon] in SBATCH.long:
            yield _with_colon(oddity.span, written[:colon], job)
            continue
        near = [name.decode() for name in SBATCH.long if option_alike(word, name.decode())]
        if near and len(word) > 3:
            start = job.source.find(word.encode(), oddity.span.start, oddity.span.end)
            edit = Edit(Span(start, start + len(word.encode())), near[0].encode(), "MPL106")
            fix = Fix((edit,), Safety.ASK, "--%s" % near[0], harmless=len(near) == 1)
            fixes = (fix,) if start >= 0 else ()
            yield Finding("MPL106", "sbatch knows no option --%s" % word, oddity.span, fixes=fixes,
                          help="did you mean --%s?" % near[0])  # fmt: skip


def _with_colon(span: Span, name: bytes, job: Job) -> Finding:
    """`--time:01:00:00`: the first colon stands for the =."""
    at = job.source.find(name + b":", span.start, span.end) + len(name)
    shown = "--%s" % name.decode()
    fix = Fix((Edit(Span(at, at + 1), b"=", "MPL106"),), Safety.ASK, shown + "=", harmless=True)
    return Finding("MPL106", "a colon stands where %s wants an =" % shown, span, fixes=(fix,), help=shown + "=...")


def _is_sruns(word: str) -> bool:
    """Return whether an option is srun's own; those of plug-ins belong to both."""
    return b"--" + word.encode() in srun_options.TABLE.rows and not word.startswith(("container-", "environment"))


def _of_srun(word: str, span: Span, plan: LaunchPlan, job: Job) -> Finding:
    """Say the option on the lines of srun, and take it out of the directive, which says nothing else."""
    line = job.source.rfind(b"\n", 0, span.start) + 1
    end = job.source.find(b"\n", span.start)
    words = job.source[span.start : end if end >= 0 else len(job.source)].split(b"#")[0].strip()
    alone = job.source[line : span.start].strip() == b"#SBATCH" and len(words.split()) == 1
    places = [link.options_at for step in plan.steps for link in step.links[:1] if link.name == "srun"]
    edits = [Edit(Span(line, line), b"#", "MPL106")]
    edits += [Edit(Span(at, at), b" " + words, "MPL106") for at in dict.fromkeys(places) if at is not None]
    where = "on the line of srun" if edits[1:] else "nowhere: no srun is there"
    fix = Fix(tuple(edits), Safety.ASK, "say --%s %s" % (word, where), harmless=bool(edits[1:]))
    fixes = (fix,) if alone and None not in places else ()
    return Finding("MPL106", "--%s is an option of srun, which sbatch does not take" % word, span, fixes=fixes,
                   help="srun --%s ..." % word)  # fmt: skip
