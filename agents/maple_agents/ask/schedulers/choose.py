"""Which scheduler is here, and how it is best asked. What asks it is loaded only then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from ..sites.this_site import installed
from .protocol import Scheduler, SchedulerError


def choose(
    scheduler: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    libpbs: str | None = None,
    pbs_conf: str | None = None,
) -> Scheduler:
    """Return the adapter for this machine: libpbs before qstat, for PBS; pyslurm before Slurm's commands, for Slurm.

    *scheduler*: `pbs` or `slurm` where the site says which, None: what is here. A library that is named in *libpbs* is
    used or refused; one that was only found and cannot be used gives way to the commands. Raises `SchedulerError` in
    one line where there is neither.
    """
    environ = os.environ if environ is None else environ
    wanted = scheduler or _here(environ, libpbs, pbs_conf)
    if wanted == "slurm" and _commands(environ, "squeue", "scontrol"):
        from .slurm.commands import SlurmCommands
        from .slurm.pyslurm_api import PySlurm, is_installed

        kind = PySlurm if is_installed() else SlurmCommands
        return kind(_folder(environ, "squeue"), submit=_found(environ, "sbatch"), environ=environ)
    if wanted == "pbs":
        return _pbs(environ, libpbs, pbs_conf)
    if wanted == "slurm":
        raise SchedulerError("looking for Slurm", "squeue and scontrol are not here", _REMEDY)
    if wanted is None:
        raise SchedulerError("looking for a scheduler", "neither libpbs nor qstat nor squeue is here", _REMEDY)
    raise ValueError("%r is no scheduler that Maple knows" % wanted)


_REMEDY = "run this where jobs are submitted, with the scheduler's commands in PATH"


def _pbs(environ: Mapping[str, str], libpbs: str | None, pbs_conf: str | None) -> Scheduler:
    from .pbs.commands import PbsCommands
    from .pbs.libpbs import Pbs
    from .pbs.library import Library, find

    qsub = _found(environ, "qsub") or "qsub"
    path = find(libpbs, environ, pbs_conf)
    try:
        if path:
            return Pbs(Library(path), environ.get("PBS_SERVER") or None, qsub=qsub)
    except SchedulerError:
        if libpbs or not _commands(environ, "qstat"):
            raise
    if not _commands(environ, "qstat"):
        raise SchedulerError("looking for PBS", "neither libpbs nor qstat is here", _REMEDY)
    return PbsCommands(_folder(environ, "qstat"), submit=qsub, environ=environ)


def _here(environ: Mapping[str, str], libpbs: str | None, pbs_conf: str | None) -> str | None:
    """Return the scheduler that this machine has: the one that Maple was installed in front of, else what is found.

    Slurm's own qstat, a wrapper, does not make it a PBS machine.
    """
    from .pbs.library import configuration, find

    in_front = installed(environ=environ)
    if in_front is not None:
        return in_front.site.scheduler
    conf = pbs_conf or environ.get("PBS_CONF_FILE") or "/etc/pbs.conf"
    if libpbs or configuration(conf):
        return "pbs"
    if _commands(environ, "squeue", "scontrol"):
        return "slurm"
    return "pbs" if _commands(environ, "qstat") or find(None, environ, conf) else None


def _commands(environ: Mapping[str, str], *names: str) -> bool:
    return all(_found(environ, name) for name in names)


def _found(environ: Mapping[str, str], name: str) -> str:
    return shutil.which(name, path=environ.get("PATH", os.defpath)) or ""


def _folder(environ: Mapping[str, str], name: str) -> str:
    return os.path.dirname(_found(environ, name))
