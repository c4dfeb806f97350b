"""What the scheduler here calls itself: ClusterName of slurm.conf(5), PBS_SERVER of pbs.conf(8)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Optional

SECONDS = 2.0  # that a controller may take; it is asked only where no file says its name
_MOST = 1 << 20
_SLURM = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")


def cluster_names(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name, and what it is: of configuration files first, then as Slurm's controller says it."""
    slurm = environ.get("SLURM_CONF")
    said = False
    for path in (slurm,) if slurm else _SLURM:
        name = _value(path, rb"(?im)^[ \t]*ClusterName[ \t]*=[ \t]*([\w.-]+)")
        if name:
            said = True
            yield name.lower(), "ClusterName in %s" % path
            break
    server = environ.get("PBS_SERVER") or _value(
        environ.get("PBS_CONF_FILE") or "/etc/pbs.conf", rb"(?m)^PBS_SERVER=([\w.-]+)"
    )
    if server:
        yield server, "PBS_SERVER"
    name = "" if said else _asked(environ)
    if name:
        yield name, "ClusterName of scontrol show config"


def _value(path: str, pattern: bytes) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            found = re.search(pattern, file.read(_MOST))
    except OSError:
        return None
    return found[1].decode() if found else None


def _asked(environ: Mapping[str, str]) -> str:
    """Return what the controller calls the cluster; a node without a slurm.conf of its own asks for one too."""
    scontrol = shutil.which("scontrol", path=environ.get("PATH", ""))
    if scontrol is None:
        return ""
    try:
        done = subprocess.run(
            [scontrol, "show", "config"], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
            env={**environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(rb"(?m)^ClusterName\s*=\s*([\w.-]+)", done.stdout)
    return found[1].decode() if found else ""
