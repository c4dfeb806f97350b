"""A job as the rules see it: how it was submitted, its script, and the settings in force.

A batch script with its directives.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Tuple

from .edits import Span
from .settings import Setting, Settings
from .submission import Submission

Read = Callable[[bytes], Optional[bytes]]  # a file's bytes by its path, None where it may not or cannot be read


class Directive(NamedTuple):
    """One `#SBATCH` (or `#PBS`) line that the scheduler reads, and the settings on it in order."""

    span: Span  # the line without its newline
    line: int  # 1-based
    prefix: bytes  # b"#SBATCH", or b"#PBS" and what a user of qsub puts in its place
    settings: Tuple[Setting, ...]


class Oddity(NamedTuple):
    """Something about the directives a user would want to know.

    *kind*: "late" (a directive behind the first command, never read), "near-miss" (`# SBATCH`, `#SBTACH`, ` #SBATCH`:
    looks like a directive, is a comment), "variable" (`$NAME` is not expanded here), "refused" (sbatch or qsub will not
    take this line), "other-scheduler" (`#PBS` under Slurm, `#SBATCH` under PBS), "unread", "ignored" (read, and without
    effect: a second `-l walltime` under PBS, where the first counts).
    """

    kind: str
    span: Span
    line: int
    says: str


class JobScript(NamedTuple):
    """The source and what the scheduler reads from it."""

    source: bytes
    interpreter: bytes  # of the first line, b"" if there is none
    is_shell: bool  # bash, sh, dash, zsh, ksh (directly or by env); only then is the body read
    directives: Tuple[Directive, ...]
    oddities: Tuple[Oddity, ...]
    refused: str  # what sbatch or qsub itself will say of this text (CRLF, a wrong directive ...); "" if nothing
    het: bool  # a heterogeneous job: left alone
    disputed: int = 0  # the line of a directive that releases of the scheduler read differently: left alone; 0: none
    unreadable: bool = False  # the text as a whole is refused: nothing else is found in it until that is cured


def line_of(source: bytes, offset: int) -> int:
    """Return the 1-based line of byte *offset*."""
    return source.count(b"\n", 0, offset) + 1


def column_of(source: bytes, offset: int) -> int:
    """Return the 1-based column of byte *offset*, in bytes."""
    return offset - (source.rfind(b"\n", 0, offset) + 1) + 1


class Job(NamedTuple):
    """*arguments* are the words behind the script on the command line, None where they are not known.

    *read* gives the files that the plan needs, *peruse* those that only advice comes from, such as the program's own:
    None on the way of a submission, whose answer would change with each edit of the program.
    """

    submission: Submission
    script: JobScript
    settings: Settings
    arguments: Optional[Tuple[bytes, ...]] = ()
    read: Optional[Read] = None
    peruse: Optional[Read] = None

    @property
    def source(self) -> bytes:
        """The script's bytes."""
        return self.script.source
