"""The daemons of a lab: where they are installed, how they are started, who cleans up when we die."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from typing import Sequence

from tests.lab import cleanup
from tests.lab.namespaces import Network, entry, unshare

PACKAGES = "munge slurm-wlm slurmctld slurmd slurm-client slurm-wlm-basic-plugins iproute2 util-linux"
# Another Slurm than the one in PATH: a folder with its bin/ and sbin/, and lib/slurm/ where its plugins were moved.
OTHER = os.path.abspath(os.environ["MAPLE_TEST_SLURM"]) if os.environ.get("MAPLE_TEST_SLURM") else ""
PROGRAMS = {"slurmctld": "slurmctld-wlm", "slurmd": "slurmd-wlm", "slurmstepd": "slurmstepd-wlm"}


class LabError(RuntimeError):
    """The lab cannot start or a command in it does not end; one clear sentence."""


def installed() -> dict[str, str]:
    """Return where the daemons are. Raises `LabError` with the line that installs what is missing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    found = {name: shutil.which(name, path=path) for name in ("munged", "unshare")}
    path = os.pathsep.join([*folders(), path])
    if OTHER:
        found.update({name: shutil.which(name, path=path) for name in PROGRAMS})
    else:
        for name, packaged in PROGRAMS.items():
            found[name] = shutil.which(packaged, path=path) or shutil.which(name, path=path)
    for name in ("sbatch", "srun", "sinfo", "scancel"):
        found[name] = shutil.which(name, path=path)
    strangers = sorted(name for name in (*PROGRAMS, "sbatch") if OTHER and not (found[name] or "").startswith(OTHER))
    if strangers:
        raise LabError(f"MAPLE_TEST_SLURM={OTHER} has no {', '.join(strangers)} in its bin/ and sbin/")
    missing = sorted(name for name, where in found.items() if where is None)
    if missing:
        raise LabError(
            f"the Slurm lab needs {', '.join(missing)}: apt-get install -y --no-install-recommends {PACKAGES}"
        )
    return {name: where for name, where in found.items() if where}


def folders() -> list[str]:
    """Return the folders that come first in PATH, where MAPLE_TEST_SLURM names another Slurm."""
    return [f"{OTHER}/bin", f"{OTHER}/sbin"] if OTHER else []


def plugins() -> str:
    """Return the folder of the other Slurm's plugins, "" where each program knows its own."""
    return f"{OTHER}/lib/slurm" if OTHER and os.path.isdir(f"{OTHER}/lib/slurm") else ""


def version() -> tuple[int, int]:
    """Return the release of Slurm that labs run, as in (22, 5): what a test needs of it is said in `tests.wanted`."""
    done = subprocess.run([installed()["slurmctld"], "-V"], capture_output=True, text=True, timeout=10, check=False)
    found = re.search(r"(\d+)\.(\d+)", done.stdout + done.stderr)
    if found is None:
        raise LabError(f"slurmctld -V names no release: {(done.stdout + done.stderr).strip()[:200]}")
    return int(found[1]), int(found[2])


def device_files(count: int, directory: str) -> list[str]:
    """Return *count* device files that can stand for GPUs: terminals that exist, else nodes made in *directory*."""
    terminals = [f"/dev/tty{number}" for number in range(64)]
    found = [path for path in terminals if _is_device(path)]
    if len(found) >= count:
        return found[:count]
    return [_made_device(os.path.join(directory, f"gpu{number}")) for number in range(count)]


def _is_device(path: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def _made_device(path: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError as error:
        raise LabError("the Slurm lab needs /dev/tty0 and on to stand for GPUs, or root to make devices") from error
    return path


def environment_of_daemons(directory: str) -> dict[str, str]:
    """Return the environment of every daemon: nothing of ours, and the mark by which `cleanup` knows its own."""
    path = os.pathsep.join([*folders(), "/usr/sbin:/usr/bin:/sbin:/bin"])
    return {"PATH": path, "SLURM_CONF": f"{directory}/etc/slurm.conf", "LANG": "C.UTF-8"}


def start_keeper(directory: str) -> subprocess.Popen[bytes]:
    """Start the process that cleans up when its standard input closes, which our death does as well."""
    argv = [sys.executable, "-IS", cleanup.__file__, directory]
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )


def start_daemon(directory: str, name: str, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a daemon on the host; what it says goes to log/NAME.out."""
    with open(f"{directory}/log/{name}.out", "ab") as log:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment_of_daemons(directory),
            cwd="/",
        )


def start_nodes(
    directory: str, hosts: Sequence[str], network: Network | None, named: bool
) -> list[subprocess.Popen[bytes]]:
    """Start a slurmd for each host, in namespaces of its own as far as we may."""
    if not named:
        return [start_daemon(directory, f"slurmd-{host}", _slurmd(directory, host)) for host in hosts]
    nodes = []
    for index, host in enumerate(hosts):
        text = entry(host, f"{directory}/etc/hosts", network, index)
        argv = [*unshare(network is not None), "sh", "-c", text, "slurmd", *_slurmd(directory, host)]
        with open(f"{directory}/log/slurmd-{host}.out", "ab") as log:
            nodes.append(
                subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                    env=environment_of_daemons(directory),
                )
            )
    for host, node in zip(hosts, nodes):
        if node.stdout is None or node.stdout.readline() != b"ready\n":
            raise LabError(f"node {host} did not get its namespaces: {_said(directory, f'slurmd-{host}')}")
        node.stdout.close()
    if network is not None:
        network.plug([node.pid for node in nodes])
    for node in nodes:
        if node.stdin is not None:
            node.stdin.write(b"go\n")
            node.stdin.close()
    return nodes


def _slurmd(directory: str, host: str) -> list[str]:
    sbin = f"{directory}/sbin"
    return [f"{sbin}/slurmd", "-D", "-f", f"{directory}/etc/slurm.conf", "-N", host, "-d", f"{sbin}/slurmstepd"]


def _said(directory: str, name: str) -> str:
    try:
        with open(f"{directory}/log/{name}.out", encoding="utf-8", errors="replace") as file:
            return file.read()[-500:].strip()
    except OSError:
        return ""
