"""Requests that PBS itself refuses, whatever the site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Iterator, Optional

from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged, surely_openpbs
from ..spelling import misspelt

if TYPE_CHECKING:
    from ...request.pbs.refusals import Refusal  # not on the way of a Slurm job

_PLACES = ("free", "pack", "scatter", "vscatter", "excl", "exclhost", "shared")
_OF_CHUNKS = ("ncpus", "ngpus", "mpiprocs", "ompthreads", "mem", "vmem", "host", "vnode", "arch", "system")
_OF_MPL103 = ("select", "walltime")  # a variable in a directive, which that rule speaks of


@rule("MPL216", "qsub refuses the request", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Some requests no PBS takes: forms that do not go together, values that are none, options with wrong values.

    Wrong: #PBS -l select=1, and #PBS -l ncpus=32
    Right: #PBS -l select=1:ncpus=32
    Wrong: #PBS -l nodes=2:ppn=4:gpus=1, which is Torque's
    Right: #PBS -l select=2:ncpus=4:mpiprocs=4:ngpus=1,place=scatter
    Wrong: #PBS -l select=2:walltime=01:00:00
    Right: #PBS -l select=2 -l walltime=01:00:00
    Wrong: #PBS -l place=scater, #PBS -l select=2:ngpu=4
    Right: #PBS -l place=scatter, #PBS -l select=2:ngpus=4
    Why:   OpenPBS 23.06 says: "-lresource=" cannot be used with "select" or "place"; node(s) specification error;
           Resource invalid in "select" specification. Maple removes what stands twice and moves what can stand in
           one place only, and writes a time that has one reading; otherwise it asks first. It is certain where the site
           is known to have no Torque, which takes more, or the job speaks of chunks, which Torque does not know. A
           place without a select is only reported, because the server may have a select of its own to add.
    """
    from ...cures.request_edits import misplaced
    from ...request.pbs.refusals import Refusal, refusals
    from ...request.pbs.submission import read_argv

    if not judged(job, site):
        return
    submission = job.submission
    refused = refusals(
        read_argv(submission.argv),
        submission.environment,
        job.script,
        submission.path if submission.came == "file" else b"",
    )
    for problem in refused:
        if (problem.setting is not None or problem.says) and not _of_another(problem):
            yield _finding(problem, job, site)
    yield from _misspelt(job)
    chosen = misplaced(job, site)
    if chosen is not None and not any(refusal.setting is chosen for refusal in refused):
        text = 'qsub: Resource invalid in "select" specification'
        yield _finding(Refusal(text, 4, setting=chosen), job, site)


def _misspelt(job: Job) -> Iterator[Finding]:
    """Yield words of place and resources of chunks that are known by another spelling; a server may have more."""
    for name, known in (("place", _PLACES), ("select", _OF_CHUNKS)):
        setting = job.settings.get(name)
        words = re.split(rb"[:+]", setting.value) if setting is not None and b"$" not in setting.value else []
        for word in words:
            spelt, equals, _ = word.partition(b"=")
            text = spelt.decode("utf-8", "backslashreplace")
            other = next((known_word for known_word in known if misspelt(text, known_word)), "")
            if text in known or not other or bool(equals) != (name == "select"):
                continue
            made = restate(job, setting, setting.value.replace(spelt, other.encode()), "MPL216") if setting else None
            fixes = (made.fix(Safety.ASK, "%s in place of %s" % (other, text)),) if made is not None else ()
            yield Finding("MPL216", "PBS itself knows no %s in %s" % (text, name), at(setting), fixes=fixes,
                          help="did you mean %s?" % other)  # fmt: skip
            return


def _colons(setting: Optional[Setting], job: Job) -> Optional[Fix]:
    """Write `select=2:ncpus=8` for `select=2;ncpus=8`."""
    if setting is None or setting.name != "select" or b";" not in setting.value:
        return None
    made = restate(job, setting, setting.value.replace(b";", b":"), "MPL216")
    return made.fix(Safety.ASK, "colons in place of semicolons") if made is not None else None


def _of_another(refusal: Refusal) -> bool:
    setting = refusal.setting
    in_script = setting is not None and setting.origin.kind == "directive"
    return setting is not None and in_script and setting.name in _OF_MPL103 and b"$" in setting.value


def _finding(refusal: Refusal, job: Job, site: Site) -> Finding:
    text = refusal.text[6:] if refusal.text.startswith("qsub: ") else refusal.text
    message = ": ".join(filter(None, (text.strip(), refusal.says)))
    from ...cures.request_edits import cure
    from ...request.pbs.refusals import CUSTOM

    doubtful = ("place", *CUSTOM)  # a server may have a select of its own, or such a resource for whole jobs
    sure = surely_openpbs(job, site) and not (refusal.setting is not None and refusal.setting.name in doubtful)

    fix = cure(refusal, job, site) or _colons(refusal.setting, job)
    fixes = (fix if sure else fix._replace(safety=Safety.ASK),) if fix is not None else ()
    wanted = "write the request in a form that PBS accepts"
    return Finding(
        "MPL216", "qsub refuses this request: " + message, at(refusal.setting), sure, fixes=fixes, help=wanted
    )
