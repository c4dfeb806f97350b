"""The commands that a PBS lab's login environment has: the stand-ins, the real Hydra or our PALS, and what is absent.

A job of PBS does not get the submitter's environment, and a process behind ssh gets hardly any. So the stand-ins learn
where to write their facts from a file of the lab, not from variables that a launch line may lose.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import Mapping

from tests.lab.doubles import COMMANDS, LAUNCHERS, interpreter, lay_out
from tests.lab.processes import LabError
from tests.pbs_lab.shape import PbsShape

PALS = os.path.join(os.path.dirname(LAUNCHERS), "pals")
REMOTE = ("ssh", "pdsh", "pbs_tmrsh", "pbsdsh")
HYDRA = ("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich")

_MPI = {"pals": {"mpiexec": "pals_mpiexec"}, "openmpi": {"mpiexec": "mpirun", "mpirun": "mpirun"}}

_STAND_IN = """\
#!{python} -IS
import json, os, sys
if "LANG" not in os.environ:
    os.environ.pop("LC_CTYPE", None)  # Python's own doing
sys.path.insert(0, {folder!r})  # launchers
with open({settings!r}) as file:
    for name, value in json.load(file).items():
        os.environ.setdefault(name, value)
import {module}
sys.exit({module}.main({name!r}, sys.argv[1:]))
"""

_HYDRA = """\
#!/bin/sh
# of launchers: the real Hydra, and one line on how it was reached
trap '' PIPE  # on a busy machine SIGPIPE ends Hydra 4.0.2 in one of a few hundred starts
MAPLE_CHAIN="${{MAPLE_CHAIN:+$MAPLE_CHAIN }}{name}@$(hostname):$$" exec {hydra} "$@"
"""

_ABSENT = """\
#!/bin/sh
# of launchers: this site has no such command
echo "bash: line 1: {name}: command not found" >&2
exit 127
"""


def install(directory: str, shape: PbsShape) -> None:
    """Make the folder `bin` of the lab. Raises `LabError` where MPICH is missing."""
    hydra = real_hydra()
    folder = f"{directory}/launchers"
    lay_out(LAUNCHERS, folder)
    lay_out(PALS, folder)
    os.makedirs(f"{directory}/bin", exist_ok=True)
    settle(directory, {}, shape)
    modules = {name: module for name, module in COMMANDS.items() if module != "mpirun"}
    modules.update(dict.fromkeys(REMOTE, "remote"))
    modules.update(_MPI.get(shape.launcher, {}))
    for name, module in modules.items():
        text = _STAND_IN.format(
            python=interpreter(), folder=folder, settings=settings(directory), module=module, name=name
        )
        _command(directory, name, text)
    for name in HYDRA if shape.launcher == "hydra" else ():
        _command(directory, name, _HYDRA.format(name=name, hydra=shlex.quote(hydra)))
    for name in (*shape.absent, *(name for name in HYDRA if shape.launcher != "hydra" and name not in modules)):
        _command(directory, name, _ABSENT.format(name=name))


def real_hydra() -> str:
    """Return where MPICH's mpiexec is. Raises `LabError` with the line that installs it."""
    found = shutil.which("mpiexec.hydra", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/bin"]))
    if found is None:
        raise LabError("the PBS lab needs mpiexec.hydra: apt-get install -y --no-install-recommends mpich")
    return os.path.realpath(found)


def settings(directory: str) -> str:
    """Return the file of what the stand-ins are told beside their environment."""
    return f"{directory}/etc/settings.json"


def settle(directory: str, said: Mapping[str, str], shape: PbsShape) -> None:
    """Tell the stand-ins *said* from now on: MAPLE_FACTS, MAPLE_DOUBLE_DEADLINE and the like."""
    own = {"MAPLE_HYDRA": real_hydra(), "MAPLE_PMIX": "1" if shape.sets_pmix_rank else "", "MAPLE_MPI": shape.launcher}
    own.update({} if shape.tm else {"MAPLE_TM": "no"})
    os.makedirs(f"{directory}/etc", exist_ok=True)
    path = settings(directory)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump({**own, **said}, file)
    os.rename(f"{path}.new", path)


def _command(directory: str, name: str, text: str) -> None:
    path = f"{directory}/bin/{name}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
