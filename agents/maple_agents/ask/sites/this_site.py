"""Which site is this? One answer for every command, in one order: said, installed, detected, generic.

What is installed comes before what this machine looks like: the front goes by it, and two answers are worse than one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

from maple_submit_filter.host import configuration
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.modes import Policy

SAID, INSTALLED, DETECTED, GENERIC = "said", "installed", "detected", "generic"


class Here(NamedTuple):
    """*how*: one of the four. *why*: a phrase that says from where. *site*, *policy*: of what is installed."""

    id: str
    how: str
    why: str
    site: Optional[Site] = None
    policy: Optional[Policy] = None

    def __str__(self) -> str:
        return "%s (%s)" % (self.id, self.why)


def here(wanted: Optional[str], generic: str, environ: Mapping[str, str] = os.environ, hostname: str = "") -> Here:
    """Return the site that commands are about. *wanted*: on the command line, an id or a site file.

    *generic*: where nothing tells. *hostname*: this machine's, "" for what it calls itself.
    """
    if wanted:
        from . import named

        return Here(named(wanted), SAID, "--site")
    order = ("qsub", "sbatch") if generic.endswith("pbs") else ("sbatch", "qsub")
    front = installed(order, environ)
    if front is not None:
        return Here(front.site.id, INSTALLED, "installed below %s" % prefix_of(front.conf), front.site, front.policy)
    return _detected(environ, hostname or os.uname().nodename) or Here(
        generic, GENERIC, "not described yet; maple site init drafts a description"
    )


def _detected(environ: Mapping[str, str], hostname: str) -> Optional[Here]:
    """Return the site that names and variables speak for; the scheduler is asked for its name last: that takes time."""
    from . import detect

    by_name = detect(environ, hostname)
    if by_name is not None:
        return Here(by_name, DETECTED, "detected by the name or environment of %s" % hostname)
    for name, where in cluster_names(environ):
        site_id = detect(environ, hostname, name)
        if site_id is not None:
            return Here(site_id, DETECTED, "detected: %s is %s" % (where, name))
    return None


# What the scheduler here calls itself: ClusterName of slurm.conf(5), PBS_SERVER of pbs.conf(8).

SECONDS = 2.0  # that a controller may take; it is asked only where no file says its name
_MOST = 1 << 20
_SLURM = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")


def cluster_names(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name, and what it is: of configuration files first, then as Slurm's controller says it."""
    slurm = environ.get("SLURM_CONF")
    is_named = False
    for path in (slurm,) if slurm else _SLURM:
        name = _value(path, rb"(?im)^[ \t]*ClusterName[ \t]*=[ \t]*([\w.-]+)")
        if name:
            is_named = True
            yield name.lower(), "ClusterName in %s" % path
            break
    server = environ.get("PBS_SERVER") or _value(
        environ.get("PBS_CONF_FILE") or "/etc/pbs.conf", rb"(?m)^PBS_SERVER=([\w.-]+)"
    )
    if server:
        yield server, "PBS_SERVER"
    name = "" if is_named else _asked(environ)
    if name:
        yield name, "ClusterName of scontrol show config"


def _value(path: str, pattern: bytes) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            match = re.search(pattern, file.read(_MOST))
    except OSError:
        return None
    return match[1].decode() if match else None


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
    match = re.search(rb"(?m)^ClusterName\s*=\s*([\w.-]+)", done.stdout)
    return match[1].decode() if match else ""


# The installation whose front a shell finds as sbatch or qsub here, and what it goes by.

COMMANDS = ("sbatch", "qsub")
_CONF = re.compile(
    rb"(/[^\0\n]*)/current/etc/front\.conf\0"
)  # what a front that was copied elsewhere was compiled with
_MOST_OF_FRONT = 4 << 20  # bytes of a front


class Installed(NamedTuple):
    """*conf*: the path of its front.conf. *site*, *policy*: of the facts and the modes that its front goes by."""

    conf: str
    site: Site
    policy: Policy = Policy()


def installed(commands: Sequence[str] = COMMANDS, environ: Mapping[str, str] = os.environ) -> Optional[Installed]:
    """Return what the first of these commands that is a front goes by, None where none is one that can be read."""
    for command in commands:
        path = front_conf(command, environ)
        try:
            conf = configuration.read_conf(path) if path else {}
            if conf.get("snapshot"):
                return Installed(path, configuration.site(conf), _policy(conf))
        except (OSError, ValueError):
            continue
    return None


def _policy(conf: Mapping[str, str]) -> Policy:
    try:
        return configuration.policy(conf)
    except (OSError, ValueError):
        return Policy("off")  # a front that cannot read it does nothing


def prefix_of_front(environ: Mapping[str, str] = os.environ) -> str:
    """Return the prefix of the installation whose front is on PATH, "" where there is none."""
    paths = (front_conf(command, environ) for command in COMMANDS)
    front = next((path for path in paths if path), "")
    return prefix_of(front)


def prefix_of(conf: str) -> str:
    """Return the prefix of the installation that a front.conf belongs to."""
    return re.sub(r"/(current|releases/[^/]*)/etc/front\.conf\Z", "", conf)


def front_conf(command: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the front.conf of the command of that name on PATH, "" where that is no front of Maple's."""
    program = shutil.which(command, path=environ.get("PATH", ""))
    if program is None:
        return ""
    real = os.path.realpath(program)
    beside = os.path.join(os.path.dirname(os.path.dirname(real)), "etc", "front.conf")
    if os.path.basename(real) == "front" and os.path.isfile(beside):
        return beside
    try:
        with open(real, "rb") as file:
            match = _CONF.search(file.read(_MOST_OF_FRONT)) if os.path.getsize(real) <= _MOST_OF_FRONT else None
    except OSError:
        return ""
    copied = os.fsdecode(match[1]) + "/current/etc/front.conf" if match else ""
    return copied if os.path.isfile(copied) else ""
