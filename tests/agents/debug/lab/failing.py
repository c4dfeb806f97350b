"""What is provoked: the failures under `failures/`, one table each.

[failure.NAME]
script   the batch script as its user wrote it
files    what lies beside it: name -> text; `programs/` is always there
prepare  shell commands run in the folder before submission, as on the login node (a compiler, chmod)
options  words before the script on sbatch's command line
cause    the class that must come out; *accepts*: others that are as right
evidence a pattern that a line of the evidence must match; "" where the script alone proves it
cured_by "script": maple-fix must mend it, and the mended job must end well with *ranks* ranks trained; else "people"
during   what happens to the job while it runs: {said = TEXT that its log must hold first, after = SECONDS, does = NAME}
quick    part of `make test`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tomllib

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"


@dataclass(frozen=True, slots=True)
class During:
    """Something that happens to a running job; `disturbing` knows the names of *does*."""

    does: str
    said: str = ""
    after: float = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that can be provoked. *refused*: the scheduler takes no such job; what it says is the log."""

    name: str
    subject: str
    script: str
    cause: str
    evidence: str = ""
    accepts: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    prepare: str = ""
    options: tuple[str, ...] = ()
    cured_by: str = "people"
    ranks: int = 0
    during: tuple[During, ...] = ()
    refused: bool = False
    quick: bool = False
    needs: str = ""  # a path without which it cannot be provoked
    longest: float = 150  # seconds until a job that has not ended is a mistake of the case

    def right(self, cause: str) -> bool:
        """Return whether *cause* is a right answer."""
        return cause == self.cause or cause in self.accepts


def failures() -> dict[str, Failure]:
    """Return every failure by name, in the order of the files."""
    found: dict[str, Failure] = {}
    for path in sorted((HERE / "failures").glob("*.toml")):
        for name, table in tomllib.loads(path.read_text())["failure"].items():
            assert name not in found, f"{name} stands in two files"
            found[name] = _failure(name, path.stem, table)
    return found


def _failure(name: str, subject: str, table: dict[str, object]) -> Failure:
    during = tuple(During(**one) for one in table.pop("during", []))  # type: ignore[attr-defined]
    lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    return Failure(name, subject, during=during, **{**table, **lists})  # type: ignore[arg-type]
