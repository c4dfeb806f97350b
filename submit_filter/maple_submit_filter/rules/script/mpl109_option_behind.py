"""Options of sbatch behind the script's name."""

from __future__ import annotations

from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import ArgvEdit, Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

# What hardly any program calls its own options.
_OF_SLURM = frozenset(
    b"account constraint cpus-per-gpu cpus-per-task dependency exclude gres gpus-per-node gpus-per-socket "
    b"gpus-per-task mail-type mail-user mem-per-cpu mem-per-gpu nodelist nodes ntasks ntasks-per-core ntasks-per-gpu "
    b"ntasks-per-node ntasks-per-socket partition qos reservation tasks-per-node".split()
)


@rule("MPL109", "an option for sbatch behind the script's name", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch reads its options up to the script's name; what stands behind it is the script's own.

    Wrong: sbatch job.sh --nodes=4
    Right: sbatch --nodes=4 job.sh
    Why:   the job starts with what its directives say, and the script gets the word as $1. `maple check` shows the
           change; at submission Maple only reports it, and not where the script itself speaks of such an option: then
           it reads it.
    """
    own = [line for line in job.source.split(b"\n") if line.lstrip()[:1] != b"#"] if job.arguments else []
    for word in job.arguments or ():
        name = word.partition(b"=")[0]
        if name[:2] != b"--" or name[2:] not in _OF_SLURM or any(name in line or b"getopt" in line for line in own):
            continue
        said = name.decode()
        says = "%s stands behind the script's name, where sbatch reads no options: the script gets it" % said
        fix = _before(job, word)
        yield Finding("MPL109", says, None, fixes=(fix,) if fix is not None else (),
                      help="say it before the script: sbatch %s=... job.sh" % said)  # fmt: skip


def _before(job: Job, word: bytes) -> Optional[Fix]:
    """Say it in front of all others; a word that is written apart from its value is left to the user."""
    argv = job.submission.argv
    if b"=" not in word or argv.count(word) != 1:
        return None
    edits = (ArgvEdit(0, (argv[0], word), "MPL109"), ArgvEdit(argv.index(word), (), "MPL109"))
    return Fix((), Safety.ASK, "say %s before the script" % word.decode("utf-8", "replace"), edits)
