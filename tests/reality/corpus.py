"""The hand-written scripts, and how each is submitted.

`tests/cases/right/<site>.toml`, `tricky.toml` and `wrong.toml`, and the same below `tests/cases/pbs/`: a `[[case]]`
each, in the form of `tests/case_files.py`. Beside the keys that all cases have:

| Key | Holds |
|---|---|
| `site` | a site's id; without it the cluster that nobody has described, of Slurm or of PBS |
| `script` | the script; none with `--wrap` |
| `argv` | the words of the command line, `{}` for the script; `< {}` at the end passes it through stdin |
| `finds` | codes that are proven when it is submitted with its files beside it; of right and tricky ones none is |
| `not_in_lab` | what the lab lacks to run it |
| `lab` | NAME=VALUE of the lab's submitter (which mpirun it has, say) |
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from functools import cache
from typing import Iterator, NamedTuple, Optional

from tests.case_files import CASES, File, Row, files, rows, text

GENERIC = "generic-slurm"
GENERIC_PBS = "generic-pbs"
KEYS = ("site", "argv", "script", "not_in_lab", "lab")


class Case(NamedTuple):
    """One script and its command line. *words* stand behind `sbatch` or `qsub`; `{}` is the script among them."""

    name: str  # "right/ncsa-delta/deepspeed-no-ssh", "pbs/right/alcf-polaris/torchrun-c10d"
    site: str
    script: Optional[bytes]  # None: there is only a command line (--wrap)
    words: tuple[str, ...]
    stdin: bool
    files: tuple[File, ...]  # beside the job
    runs: bool  # in the lab
    environment: tuple[tuple[str, str], ...] = ()  # what the lab's submitter has set
    finds: tuple[str, ...] = ()  # codes
    why: str = ""

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
    stem = "pbs/" + kind if scheduler == "pbs" else kind
    found = [_case(of, row) for of in _files(stem) for row in rows(os.path.join(CASES, of + ".toml"), KEYS)]
    return sorted(found, key=lambda case: case.name)


def _files(stem: str) -> list[str]:
    """Return what the files of a kind are called below `cases`, without their ending."""
    if os.path.isfile(os.path.join(CASES, stem + ".toml")):
        return [stem]
    return ["%s/%s" % (stem, name.removesuffix(".toml")) for name in os.listdir(os.path.join(CASES, stem))]


def _case(of: str, row: Row) -> Case:
    words = tuple(shlex.split(row.get("argv", "{}")))
    stdin = words[-2:] == ("<", "{}")
    variables = tuple((name, value) for name, _, value in (line.partition("=") for line in row.get("lab", ())))
    site = row.get("site", GENERIC_PBS if of.startswith("pbs/") else GENERIC)
    name, words = "%s/%s" % (of, row["name"]), words[:-2] if stdin else words
    return Case(name, site, text(row, "script"), words, stdin, files(row), "not_in_lab" not in row, variables,
                tuple(row["finds"]), row["why"])  # fmt: skip


def every() -> Iterator[Case]:
    """Yield every case of every kind, of both schedulers."""
    for scheduler in ("slurm", "pbs"):
        for kind in ("right", "tricky", "wrong"):
            yield from cases(kind, scheduler)


def lay(folder: str, beside: tuple[File, ...]) -> None:
    """Write files below a folder, which need not be there yet."""
    for file in beside:
        path = os.path.join(folder, file.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as opened:
            opened.write(file.content)
        if file.executable:
            os.chmod(path, 0o755)


def as_files() -> tuple[File, ...]:
    """Return every script as `NAME.sh`, and what lies beside it as `NAME.d/...`."""
    scripts = [File(case.name + ".sh", case.script, False) for case in every() if case.script is not None]
    beside = [file._replace(path="%s.d/%s" % (case.name, file.path)) for case in every() for file in case.files]
    return (*scripts, *beside)


@cache
def laid() -> str:
    """Return a folder that goes with this process, in which all of `as_files` lies."""
    folder = tempfile.mkdtemp(prefix="maple-cases-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    lay(folder, as_files())
    return folder
