"""A shell in a PBS lab, as `make lab SITE=alcf-polaris` opens it. MAPLE=1: with the front, its service and hooks."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.lab import shell
from tests.lab.service import running
from tests.lab.sites import described
from tests.pbs_lab.lab import SERVER, PbsLab
from tests.pbs_lab.server import served
from tests.pbs_lab.shape import PbsShape
from tests.pbs_lab.sites import shape_of_site


@contextmanager
def opened(site: str, hosts: int, front: bool) -> Iterator[shell.Place]:
    """A lab in the shape of *site*. Raises `LabError` where it, or Maple in it, does not start."""
    with PbsLab(shape_of_site(site, hosts)) as lab, served(lab):
        conf = f"{lab.directory}/etc/pbs.conf"
        environment = shell.own({**lab.environment(), "PBS_CONF_FILE": conf, **_terminal()}, lab.directory)
        folder = f"{lab.directory}/maple/bin"
        if lab.shape.queues or lab.shape.rules:  # a site that is described
            environment["MAPLE_ETC"] = described(site, SERVER, f"{lab.directory}/maple/etc")
        environment = shell.on_path(environment, folder)
        place = shell.Place(lab.directory, environment, welcome(lab.shape, front), site)
        if not front:
            yield place
            return
        _install(lab.directory, site, folder, environment)
        with running(
            lab.directory, f"{lab.directory}/maple/daemon.toml", f"{lab.directory}/maple/daemon.sock", environment
        ):
            yield place


def _terminal() -> dict[str, str]:
    """Return what a login says of its terminal."""
    return {name: os.environ[name] for name in ("TERM", "COLUMNS", "LINES") if name in os.environ}


def _install(directory: str, site: str, folder: str, environment: Mapping[str, str]) -> None:
    """Install with service and hooks, and type the lines for qmgr that are printed. Raises `LabError`."""
    prefix, events = f"{directory}/maple", f"{directory}/events"
    words = ["--prefix", prefix, "--bin", folder, "--site", site, "--real-qsub", f"{directory}/bin/qsub", "--daemon",
             "--hooks", "--spool", events, "--socket", f"{prefix}/daemon.sock", "--units", f"{directory}/units",
             "--service-uid", str(os.getuid())]  # fmt: skip
    said = shell.installed(words, environment, f"{prefix}/current/etc/front.conf")
    settings = f"{prefix}/daemon.toml"
    with open(settings, encoding="utf-8") as file:
        text = re.sub(r"(?m)^store = .*$", f'store = "{prefix}/memory.db"', file.read())
    with open(settings, "w", encoding="utf-8") as file:
        file.write(text)
    for line in re.findall(r"(?m)^\s*(qmgr -c .*)$", said):
        subprocess.run(shlex.split(line), env=dict(environment), check=True, timeout=20)


def welcome(shape: PbsShape, front: bool = False) -> str:
    """Return what is there, for a person."""
    first = shape.hosts[0]
    gpus = f"{first.gpus} GPUs" if first.gpus else "no GPU"
    names = ", ".join(one.name + (" (by a routing queue only)" if one.routed else "") for one in shape.queues)
    in_front = (
        "stands in front of qsub. Its service remembers what is submitted (maple history), and hears from PBS's hooks "
        "how jobs end"
        if front
        else "is on PATH, but not in front of qsub, and keeps no history: make lab MAPLE=1"
    )
    lines = [
        f"A PBS in the shape of {shape.site}: jobs really run on its hosts, and the server is a stand-in. Leave with "
        "exit: all is gone then.",
        "",
        f"  {len(shape.hosts)} hosts, {first.name} and so on: {gpus}, {first.cpus} CPUs, {first.memory_gib} GiB each",
        f"  queues: {names or 'any name is taken'}",
        *(
            f"  refused {'without' if one.when == 'missing' else 'with'} {' or '.join(one.options)}"
            for one in shape.rules
        ),
        "  qsub, qstat, qdel, pbsnodes, and qmgr for hooks; one job runs at a time, and none is interactive",
        "",
        f"  Maple {in_front}.",
        *shell.STAND_INS,
    ]
    return shell.folded(lines)


if __name__ == "__main__":
    sys.exit(shell.main())
