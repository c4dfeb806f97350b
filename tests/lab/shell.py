"""An interactive shell in a lab: `python tests/lab/shell.py --site ncsa-delta`, or `make lab SITE=ncsa-delta`.

With a command behind `--` that command is run in the lab instead, and its exit code is ours.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]

from tests.lab.lab import Lab  # noqa: E402
from tests.lab.processes import LabError  # noqa: E402
from tests.lab.shape import GPU4, Shape  # noqa: E402
from tests.lab.sites import shape_of_site, slurm_sites  # noqa: E402


def main() -> int:
    """Open the lab, run the shell or the command, clean up."""
    asked = _arguments()
    try:
        shape = shape_of_site(asked.site, asked.nodes) if asked.site else GPU4
        with Lab(shape) as lab:
            return _command(lab, asked.command) if asked.command else _shell(lab, asked.site or "no site in particular")
    except (LabError, ValueError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def _arguments() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="lab", description="A shell in a small real Slurm.")
    asked.add_argument("--site", default="", help=f"take the shape of this site: {', '.join(slurm_sites())}")
    asked.add_argument("--nodes", type=int, default=4, help="nodes of the kind that GPU jobs go to first (default 4)")
    asked.add_argument("command", nargs="*", help="run this in place of a shell; put -- before it")
    return asked.parse_args()


def _command(lab: Lab, command: list[str]) -> int:
    return subprocess.run(command, env=lab.environment(), check=False).returncode


def _shell(lab: Lab, name: str) -> int:
    print(welcome(lab.shape, name))
    prompt = f"lab {lab.shape.cluster_name}"
    settings = f"{lab.directory}/bashrc"
    with open(settings, "w", encoding="utf-8") as file:
        file.write("[ -f ~/.bashrc ] && . ~/.bashrc\n")  # first, so that what it does to PATH and PS1 does not stay
        file.write(f"export PATH={shlex.quote(lab.environment()['PATH'])}\nPS1='({prompt}) \\W\\$ '\n")
    # A command that fails in the shell must not leave the lab standing, nor its exit code become ours.
    subprocess.run(["bash", "--rcfile", settings, "-i"], env=lab.environment(), check=False)
    return 0


def welcome(shape: Shape, name: str) -> str:
    """Return what is there, for a person."""
    lines = [f"A real Slurm in the shape of {name}. Leave with exit: everything is gone then.", ""]
    for group in shape.groups:
        gpus = f"{group.gpus} GPUs" + ("" if group.gres else " that Slurm does not know of") if group.gpus else "no GPU"
        lines.append(f"  {group.count} x {group.name}-N   {gpus}, {group.cores} cores, {group.memory_gib} GiB")
    lines.append("  partitions: " + ", ".join(one.name + ("*" if one.default else "") for one in shape.partitions))
    for one in shape.refusals:
        lines.append(f"  refused when {' or '.join('--' + option for option in one.options)} is {one.when}")
    lines += [
        "",
        "  python, torchrun, accelerate, deepspeed, mpirun and so on are stand-ins: they start what the real ones",
        "  would, meet over TCP, and train nothing. MAPLE_FACTS=FOLDER collects what each rank was given.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
