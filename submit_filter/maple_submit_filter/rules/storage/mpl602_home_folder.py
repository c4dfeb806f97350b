"""Files that are looked for in the home directory, and lie where the job was submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, Optional, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

if TYPE_CHECKING:
    from .home_folder import Use  # not on the way of a Slurm job

CODE = "MPL602"
INTO = b'cd "$PBS_O_WORKDIR" && '
_HARMLESS = (b"echo", b"printf", b"date", b"wait", b"exit", b"true", b":", b"hostname")


@rule("MPL602", "the job starts in the home directory", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """PBS starts a job in the home directory, not where qsub was called.

    Wrong: mpiexec -n 8 python train.py, and no cd, where train.py lies beside the job script
    Right: cd "$PBS_O_WORKDIR", and then the launch line
    Why:   the ranks end with: can't open file 'train.py'. It is certain where the file lies in the folder of
           submission and not in the home directory, and neither the script nor what a login shell reads can change
           the folder. The job cannot run as it is, so where one command alone needs the folder, and nothing behind
           it could tell, Maple puts the cd in front of it, which changes nothing on a site that begins its jobs
           there; otherwise it asks first, because what follows would run in another folder too.
    """
    home, folder = job.submission.environment.get(b"HOME", b""), job.submission.cwd
    if (
        job.read is None
        or not job.script.is_shell
        or job.script.refused
        or any(_leads_elsewhere(one.name) for one in job.settings)
    ):
        return
    from .home_folder import makes_nothing, may_move, stays, uses

    if may_move(job.source):
        return
    if not home.startswith(b"/") or not folder.startswith(b"/") or home.rstrip(b"/") == folder.rstrip(b"/"):
        return
    program = parse(job.source)
    missing = [use for use in uses(plan, program) if not _there(job, home, use.name)]
    found = [use for use in missing if _there(job, folder, use.name)]
    if not missing or not stays(job, home, found or missing, program):
        return
    if not found:
        yield _nowhere(missing[0], missing, job, home, program)
        return
    # A function of the submitter's shell may do anything, and a program may make the file that it is.
    sure = "all-variables" not in job.settings and makes_nothing(program, found[0].span.start)
    fix = _into(found, job, home, program) if sure else None
    says = "%s lies in the folder of submission, but PBS starts the job in the home directory"
    yield Finding(CODE, says % found[0].name.decode("utf-8", "backslashreplace"), found[0].span, sure,
                  fixes=(fix,) if fix is not None else (), help='cd "$PBS_O_WORKDIR" in front of it')  # fmt: skip


def _nowhere(use: Use, missing: List[Use], job: Job, home: bytes, program: nodes.Program) -> Finding:
    """Say so of a file that is not beside the script either: whoever checks may be elsewhere."""
    fix = _into(missing, job, home, program)
    says = "PBS starts the job in the home directory, and %s is not there"
    return Finding(CODE, says % use.name.decode("utf-8", "backslashreplace"), use.span,
                   fixes=(fix._replace(safety=Safety.ASK),) if fix is not None else (),
                   help='cd "$PBS_O_WORKDIR" in front of it')  # fmt: skip


def _leads_elsewhere(name: str) -> bool:
    """Return whether a setting may have the job begin in another folder, or bring files: NCI has `-l wd`, say."""
    return name in ("sandbox", "stagein", "wd", "cwd") or "dir" in name.replace("directive", "")


def _there(job: Job, folder: bytes, name: bytes) -> bool:
    return job.read is not None and job.read(folder.rstrip(b"/") + b"/" + _plain(name)) is not None


def _plain(name: bytes) -> bytes:
    return name[2:] if name.startswith(b"./") else name


def _into(found: List[Use], job: Job, home: bytes, program: nodes.Program) -> Optional[Fix]:
    """Return the fix that changes the folder in front of the first command that needs it."""
    items = [(index, item) for index, item in enumerate(program.items) if _within(item.command.span, found[0].span)]
    if len(items) != 1:
        return None
    index, item = items[0]
    if isinstance(item.command, (nodes.Function, nodes.Unread)) or item.background:
        return None
    alone = all(_within(item.command.span, use.span) for use in found)
    simple = isinstance(item.command, (nodes.Simple, nodes.Pipeline, nodes.AndOr))
    quiet = all(_harmless(one) for one in program.items[index + 1 :])
    safe = alone and simple and quiet and not any(_of_home(job, home, use) for use in found)
    start = item.command.span.start
    edit = Edit(Span(start, start), INTO, CODE)
    return Fix((edit,), Safety.SAFE if safe else Safety.ASK, 'begin with: cd "$PBS_O_WORKDIR"')


def _within(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _harmless(item: nodes.Item) -> bool:
    """Return whether a command does the same in any folder."""
    command = item.command
    if not isinstance(command, nodes.Simple) or command.redirects:
        return False
    first: Tuple[nodes.Part, ...] = command.words[0].parts if command.words else ()
    return not first or (isinstance(first[0], nodes.Literal) and first[0].text in _HARMLESS)


def _of_home(job: Job, home: bytes, use: Use) -> bool:
    """Return whether another word of the line names a file that is in the home directory only."""
    names = [part for word in use.words for part in (word, word.partition(b"=")[2]) if part and part[:1] not in b"-/"]
    names = [name for name in names if b"\0" not in name]
    return any(_there(job, home, name) and not _there(job, job.submission.cwd, name) for name in names)
