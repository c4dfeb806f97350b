"""The hand-written scripts, and how each is submitted.

`tests/cases/right/<site>/NAME.sh`, `tests/cases/tricky/NAME.sh` and `tests/cases/wrong/NAME.sh`, and the same three
below `tests/cases/pbs/`. Beside one may lie

- `NAME.argv`: the words of sbatch's or qsub's command line, quoted as in a shell. `{}` stands for the script; `< {}` at
  the end passes it through stdin; with `--wrap` there is no script at all.
- `NAME.d/`: files that lie in the folder the job is submitted from.

A comment `# site: ID` names the site of a tricky or wrong script (else generic-slurm or generic-pbs), `# lab: no (why)`
one that needs what the lab has not, `# lab: NAME=VALUE` a variable of the lab (which mpirun it has, say).
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Iterator, NamedTuple, Optional

CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases")
GENERIC = "generic-slurm"
GENERIC_PBS = "generic-pbs"


class Case(NamedTuple):
    """One script and its command line. *words* stand behind `sbatch` or `qsub`; `{}` is the script among them."""

    name: str  # "right/ncsa-delta/deepspeed-no-ssh", "pbs/right/alcf-polaris/torchrun-c10d"
    site: str
    script: Optional[bytes]  # None: there is only a command line (--wrap)
    words: tuple[str, ...]
    stdin: bool
    files: str  # folder whose content is copied beside the job, "" none
    runs: bool  # in the lab
    environment: tuple[tuple[str, str], ...] = ()  # what the lab's submitter has set

    @property
    def kind(self) -> str:
        """Return "right", "tricky" or "wrong"."""
        return self.name.removeprefix("pbs/").split("/", 1)[0]

    @property
    def scheduler(self) -> str:
        """Return "slurm" or "pbs"."""
        return "pbs" if self.name.startswith("pbs/") else "slurm"

    @property
    def file_name(self) -> str:
        """Return the base name that the script has when it is submitted."""
        return os.path.basename(self.name) + ".sh"

    def with_script(self, script: Optional[bytes], words: tuple[str, ...], name: str) -> Case:
        """Return the case with other bytes and words, under another name."""
        return self._replace(script=script, words=words, name=name)


def cases(kind: str, scheduler: str = "slurm") -> list[Case]:
    """Return every case of a kind ("right", "tricky", "wrong") for a scheduler, sorted by name."""
    folder = os.path.join(CASES, "pbs", kind) if scheduler == "pbs" else os.path.join(CASES, kind)
    return sorted((_read(stem) for stem in _stems(folder)), key=lambda case: case.name)


def _stems(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.endswith(".d")]
        for stem in sorted({name[: name.rindex(".")] for name in names if name.endswith((".sh", ".argv"))}):
            yield os.path.join(where, stem)


def _read(stem: str) -> Case:
    name = os.path.relpath(stem, CASES)
    script = _bytes(f"{stem}.sh")
    words = tuple(shlex.split((_bytes(f"{stem}.argv") or b"{}").decode()))
    stdin = words[-2:] == ("<", "{}")
    head = b"\n".join((script or b"").split(b"\n")[:14])
    site = re.search(rb"^# site: (\S+)", head, re.MULTILINE)
    parts = name.split(os.sep)
    generic = GENERIC_PBS if parts[0] == "pbs" else GENERIC
    parts = parts[1:] if parts[0] == "pbs" else parts
    where = site.group(1).decode() if site else parts[1] if parts[0] == "right" else generic
    files = f"{stem}.d" if os.path.isdir(f"{stem}.d") else ""
    runs = not re.search(rb"^# lab: no\b", head, re.MULTILINE)
    variables = tuple((one[1].decode(), one[2].decode()) for one in re.finditer(rb"(?m)^# lab: (\w+)=(\S+)$", head))
    return Case(name, where, script, words[:-2] if stdin else words, stdin, files, runs, variables)


def _bytes(path: str) -> Optional[bytes]:
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()
