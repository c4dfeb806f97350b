"""An interactive shell in a lab: `python tests/lab/shell.py --site ncsa-delta`, or `make lab SITE=ncsa-delta`.

`maple` and `maple-fix` are on PATH; with --maple, or `make lab MAPLE=1`, so is the front, in the place of sbatch.
With a command behind `--` that command is run in the lab instead, and its exit code is ours.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]

from tests.lab.lab import Lab  # noqa: E402
from tests.lab.processes import LabError  # noqa: E402
from tests.lab.service import serving  # noqa: E402
from tests.lab.shape import GPU4, Shape  # noqa: E402
from tests.lab.sites import described, lab_sites, scheduler_of, shape_of_site  # noqa: E402

COMMANDS = ("maple", "maple-fix", "maple-daemon")
WIDE = 80
# Of who called us, not of a user on a login node: make's own words, and folders beside the real home.
NOT_OURS = ("MAKE", "MFLAGS", "XDG_")


class Place(NamedTuple):
    """An open lab: its *directory*, the *environment* of a login, a *welcome*, and the *name* in the prompt."""

    directory: str
    environment: dict[str, str]
    welcome: str
    name: str


def main() -> int:
    """Open the lab, run the shell or the command, clean up."""
    asked = _arguments()
    try:
        with _opening(asked.site, asked.nodes, asked.maple) as place:
            if asked.command:
                return subprocess.run(asked.command, env=place.environment, check=False).returncode
            return _shell(place)
    except (LabError, ValueError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def _opening(site: str, nodes: int, front: bool) -> AbstractContextManager[Place]:
    if site and scheduler_of(site) == "pbs":
        from tests.pbs_lab.shell import opened as of_pbs

        return of_pbs(site, nodes, front)
    return opened(site, nodes, front)


@contextmanager
def opened(site: str, nodes: int, front: bool) -> Iterator[Place]:
    """A Slurm in the shape of *site*, "" for none. Raises `LabError` where it, or Maple in it, does not start."""
    shape = shape_of_site(site, nodes) if site else GPU4
    with Lab(shape) as lab:
        environment = with_maple(lab, site, front)
        place = Place(
            lab.directory, environment, welcome(shape, site or "no site in particular", front), shape.cluster_name
        )
        with serving(lab.directory, environment, front):
            yield place


def _arguments() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="lab", description="A shell in a small Slurm, or in a PBS lab.")
    asked.add_argument("--site", default="", help=f"take the shape of this site: {', '.join(lab_sites())}")
    asked.add_argument("--nodes", type=int, default=4, help="nodes of the kind that GPU jobs go to first (default 4)")
    asked.add_argument("--maple", action="store_true", help="install Maple in front of the lab's sbatch or qsub")
    asked.add_argument("command", nargs="*", help="run this in place of a shell; put -- before it")
    return asked.parse_args()


def with_maple(lab: Lab, site: str, front: bool) -> dict[str, str]:
    """Return the lab's environment with `maple` on PATH, and with *front* installed in the place of sbatch.

    A folder of links: what else lies beside `maple` would come before the lab's stand-ins. *site*: "" for none; its
    file is known by the lab's own ClusterName, so that `maple` finds it as it would on the site.
    """
    environment = own(lab.environment(), lab.directory)
    folder = f"{lab.directory}/maple/bin"
    if site:
        environment["MAPLE_ETC"] = described(site, lab.shape.cluster_name, f"{lab.directory}/maple/etc")
    if front:
        _installed(lab, site or "generic-slurm", folder, environment)
    return on_path(environment, folder)


def on_path(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return *environment* with Maple's commands in *folder*, which comes first."""
    os.makedirs(folder, exist_ok=True)
    for name in COMMANDS:
        program, link = os.path.join(os.path.dirname(sys.executable), name), os.path.join(folder, name)
        if os.path.exists(program) and not os.path.lexists(link):
            os.symlink(program, link)
    return {**environment, "PATH": f"{folder}:{environment['PATH']}"}


def own(environment: Mapping[str, str], directory: str) -> dict[str, str]:
    """Return *environment* with a home inside the lab, which goes with it, and without what is the caller's own."""
    home = f"{directory}/home"
    os.makedirs(home, mode=0o700, exist_ok=True)
    return {**{name: value for name, value in environment.items() if not name.startswith(NOT_OURS)}, "HOME": home}


def _installed(lab: Lab, site: str, folder: str, environment: Mapping[str, str]) -> None:
    """Install Maple below the lab's directory. Raises `LabError` with what `maple admin install` says."""
    real = shutil.which("sbatch", path=environment["PATH"]) or ""
    words = ["--prefix", f"{lab.directory}/maple", "--bin", folder, "--site", site, "--real-sbatch", real]
    conf = f"{lab.directory}/maple/current/etc/front.conf"
    installed(words, environment, conf)
    with open(conf, "a", encoding="utf-8") as file:
        file.write(f"socket={lab.directory}/maple/daemon.sock\nservice_uid={os.getuid()}\n")


def installed(words: Sequence[str], environment: Mapping[str, str], conf: str) -> str:
    """Install Maple with these words, and return what that says. Raises `LabError` with it where it fails."""
    program = os.path.join(os.path.dirname(sys.executable), "maple")
    done = subprocess.run([program, "admin", "install", *words], env=dict(environment), capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"Maple could not be installed: {done.stderr.strip() or done.stdout.strip()}")
    # Seconds in place of a quarter of one: a machine that also runs a cluster is slower than a login node.
    with open(conf, "a", encoding="utf-8") as file:
        file.write("helper_ms=5000\nsocket_ms=5000\n")
    return done.stdout + done.stderr


def _shell(place: Place) -> int:
    print(place.welcome)
    settings = f"{place.directory}/bashrc"
    with open(settings, "w", encoding="utf-8") as file:
        file.write(f"export PATH={shlex.quote(place.environment['PATH'])}\nPS1='(lab {place.name}) \\W\\$ '\n")
    # A command that fails in the shell must not leave the lab standing, nor its exit code become ours.
    subprocess.run(["bash", "--rcfile", settings, "-i"], env=place.environment, check=False)
    return 0


def welcome(shape: Shape, name: str, front: bool = False) -> str:
    """Return what is there, for a person."""
    lines = [f"A real Slurm in the shape of {name}. Leave with exit: all is gone then.", ""]
    for group in shape.groups:
        gpus = f"{group.gpus} GPUs" + ("" if group.gres else " that Slurm does not know of") if group.gpus else "no GPU"
        lines.append(f"  {group.count} x {group.name}-N   {gpus}, {group.cores} cores, {group.memory_gib} GiB")
    lines.append("  partitions: " + ", ".join(one.name + ("*" if one.default else "") for one in shape.partitions))
    for one in shape.refusals:
        lines.append(f"  refused when {' or '.join('--' + option for option in one.options)} is {one.when}")
    in_front = (
        "stands in front of sbatch. Its service remembers what is submitted (maple history); job ids and ends it would "
        "hear from the scheduler's hooks, which the lab does without"
        if front
        else "is on PATH, but not in front of sbatch, and keeps no history: make lab MAPLE=1"
    )
    lines += [
        "",
        f"  Maple {in_front}.",
        *STAND_INS,
    ]
    return folded(lines)


STAND_INS = (
    "  The home folder is the lab's own.",
    "  python, torchrun, accelerate, deepspeed, mpirun and so on are stand-ins: they start what the real ones "
    "would, meet over TCP, and train nothing. There is no torch: maple verify JOB --mini-app dry "
    "proves a launch line without it. MAPLE_FACTS=FOLDER collects what each rank was given.",
)


def folded(lines: Sequence[str]) -> str:
    """Return lines in rows of a narrow terminal."""
    return "\n".join(row for line in lines for row in _folded(line)) + "\n"


def _folded(line: str) -> list[str]:
    """Return a line in rows of a narrow terminal."""
    return textwrap.wrap(line, WIDE, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False) or [""]


if __name__ == "__main__":
    sys.exit(main())
