"""The shell that a job begins with: its variables, its folder, the devices it can use."""

from __future__ import annotations

import posixpath
import re
from typing import Dict, Optional, Sequence

from ..site.facts import Site
from ..types.job import Settings
from ..types.launch_plan import Allocation, device_numbers
from ..types.submission import Submission
from ..types.text import Text, plain, unknown
from . import image, working_folder
from .program_owner import SUBMITTED_FROM
from .shell_state import Place, Shell, Variable, open_value
from .slurm_allocation import WHOLE_NODE, allocate, batch_environment


def granted(submission: Submission, settings: Settings, site: Site) -> Allocation:
    """Return what the scheduler would give."""
    if submission.scheduler == "pbs":
        from . import pbs_allocation

        return pbs_allocation.allocate(settings, site)
    return allocate(settings, site)


def batch_shell(
    submission: Submission,
    settings: Settings,
    given: Allocation,
    site: Site,
    source: Text,
    words: Optional[Sequence[bytes]],
) -> Shell:
    """Return the shell in which the script starts, with the *words* behind it on the command line; None: not known."""
    make = _pbs if submission.scheduler == "pbs" else _slurm
    shell = make(submission, settings, given, site, source)
    shell.positional = [plain(word) for word in words] if words is not None else [open_value(b"arguments")]
    if any(name in shell.variables for name in (b"CONDA_PREFIX", b"VIRTUAL_ENV")):
        shell.unsettle(SUBMITTED_FROM)
    return shell


def presume(shell: Shell, settings: Settings) -> None:
    """Have nothing that is unread change what a job's shell knows; of an array's jobs it is the last one's."""
    shell.presumes, shell.unsettled = True, ()
    members = re.findall(rb"\d+", re.sub(rb"[:%]\d+", b"", settings.value("array") or b""))
    if members:
        last = plain(max(members, key=int))
        for name in (b"SLURM_ARRAY_TASK_ID", b"PBS_ARRAY_INDEX"):
            if name in shell.variables:
                shell.variables[name] = Variable(last, None, True)


def login(submission: Submission) -> Dict[bytes, Variable]:
    """Return what a fresh login of the user has.

    What its profile sets, the shell of the submit command has as well; so a variable that is not set there is set
    nowhere, and one that is may come from the profile or have been exported by hand, which does not follow.
    """
    out = {key: Variable(open_value(b"login." + key), None, True) for key in submission.environment}
    for key in (b"HOME", b"USER", b"LOGNAME", b"SHELL"):
        value = submission.environment.get(key)
        out[key] = Variable(plain(value) if value else unknown(b"of user." + key), None, True)
    return out


def _slurm(submission: Submission, settings: Settings, given: Allocation, site: Site, source: Text) -> Shell:
    gpus = device_numbers(given.gpus_per_node) if given.gpus_per_node else None
    shell = Shell(Place(gpus=gpus), source, source.raw)
    export = settings.value("export")
    if export is None or b"ALL" in export.split(b","):
        for name, value in submission.environment.items():
            shell.variables[name] = Variable(plain(value), None, True)
    else:
        shell.lost = b"export"
    for item in (export or b"").split(b","):
        name, equals, value = item.partition(b"=")
        if equals:
            shell.set(name, plain(value), exported=True)
    for name, text in batch_environment(submission, settings, given).items():
        if name == b"CUDA_VISIBLE_DEVICES" and _keeps_devices(site, given, name in shell.variables):
            continue
        shell.variables[name] = Variable(text, None, text is not None)
    if image.asked_for(submission):
        image.inside(shell)
        image.hooked(shell, ())
    elif "container" in settings:
        image.inside(shell)
    folder = settings.value("chdir")
    if folder:
        shell.variables.pop(b"PWD", None)
    working_folder.start(shell, posixpath.join(submission.cwd, folder) if folder else submission.cwd)
    return shell


def _keeps_devices(site: Site, given: Allocation, requested: bool) -> bool:
    """Return whether the scheduler leaves CUDA_VISIBLE_DEVICES as the user has it: it counts no GPUs, or gave none."""
    return site.gpu_request.style == WHOLE_NODE or (given.gpus_per_node is None and requested)


def _pbs(submission: Submission, settings: Settings, given: Allocation, site: Site, source: Text) -> Shell:
    """PBS starts a job as a login would, in the home directory; qsub's variables follow with -V or -v alone."""
    from . import pbs_allocation as pbs

    shell = Shell(Place(gpus=pbs.devices(given, site)), source, source.raw)
    shell.softly = True
    shell.variables.update(login(submission))
    shell.variables.update(pbs.passed_on(submission, settings))
    if site.gpu_request.style != WHOLE_NODE:
        shell.variables.setdefault(b"CUDA_VISIBLE_DEVICES", Variable(pbs.HOOKS_DEVICES, None, True))
    for name, text in pbs.batch_environment(submission, settings, given).items():
        shell.variables[name] = Variable(text, None, text is not None)
    working_folder.start(shell, submission.environment.get(b"HOME"))
    return shell
