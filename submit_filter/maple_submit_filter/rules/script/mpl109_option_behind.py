"""Options of sbatch behind the script's name."""

from __future__ import annotations

from typing import Iterator, List, Optional

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
           change; at submission Maple only reports it, unless the job cannot run as it is read and runs as it is
           written. Not reported where the script itself speaks of such an option: then it reads it.
    """
    own = [line for line in job.source.split(b"\n") if line.lstrip()[:1] != b"#"] if job.arguments else []
    behind = [word for word in job.arguments or () if _is_option(word, own)]
    fix = _before(job, behind) if behind else None
    for word in behind:
        option = word.partition(b"=")[0].decode()
        says = "%s stands behind the script's name, where sbatch reads no options: the script gets it" % option
        yield Finding("MPL109", says, None, fixes=(fix,) if fix is not None else (),
                      help="say it before the script: sbatch %s=... job.sh" % option)  # fmt: skip


def _is_option(word: bytes, own: List[bytes]) -> bool:
    """Return whether a word is meant for sbatch; *own*: lines of the script, which may read such a word itself."""
    name = word.partition(b"=")[0]
    if name[:2] != b"--" or name[2:] not in _OF_SLURM:
        return False
    return not any(name in line or b"getopt" in line for line in own)


def _before(job: Job, words: List[bytes]) -> Optional[Fix]:
    """Say them in front of all others; a word that is written apart from its value is left to the user."""
    argv = job.submission.argv
    if any(b"=" not in word or argv.count(word) != 1 for word in words):
        return None
    gone = tuple(ArgvEdit(argv.index(word), (), "MPL109") for word in words)
    edits = (ArgvEdit(0, (argv[0], *words), "MPL109"), *gone)
    named = " ".join(word.decode("utf-8", "replace") for word in words)
    return Fix((), Safety.ASK, "say %s before the script" % named, edits)
