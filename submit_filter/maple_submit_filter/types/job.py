"""A job as the rules see it: how it was submitted, its script with its directives, and the settings in force.

One setting comes from many places; which place wins stands here too.
"""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Optional, Tuple

from .edits import Span
from .submission import Submission

Read = Callable[[bytes], Optional[bytes]]  # a file's bytes by its path, None where it may not or cannot be read


class Origin(NamedTuple):
    """Where a setting was said.

    *kind* is "argv", "environment", "directive", "line" (a launch line in the script), "default" or "site".
    *span*: the bytes of the whole option in the script, its value included (directive, line).
    *value_span*: the bytes of the value alone (None for a bare flag).
    *argv_index*, *argv_count*: which words of the submit command's argv say it. *variable*: which variable does.
    *line*: 1-based line of the script, 0 when it is not in the script.
    """

    kind: str
    span: Optional[Span] = None
    value_span: Optional[Span] = None
    argv_index: int = -1
    argv_count: int = 0
    variable: bytes = b""
    line: int = 0
    spelling: bytes = b""  # the option as it was written: b"-N", b"--nodes", b"--nod"


class Setting(NamedTuple):
    """An option by its long name without dashes ("ntasks-per-node"), its value (b"" for a bare flag) and its origin."""

    name: str
    value: bytes
    origin: Origin


class Settings:
    """Every setting of a submission; the strongest origin wins, the others are kept."""

    __slots__ = ("_by_name",)

    def __init__(self, settings: Tuple[Setting, ...] = ()) -> None:
        """*settings* come weakest first, so that of two equal names the later one wins."""
        by_name: dict[str, Tuple[Setting, ...]] = {}
        for setting in settings:
            by_name[setting.name] = (setting,) + by_name.get(setting.name, ())
        self._by_name = by_name

    def get(self, name: str) -> Optional[Setting]:
        """Return the setting in force, or None when nobody said it."""
        settings = self._by_name.get(name)
        return settings[0] if settings else None

    def value(self, name: str) -> Optional[bytes]:
        """Return the value in force, or None when nobody said it."""
        setting = self.get(name)
        return setting.value if setting else None

    def all(self, name: str) -> Tuple[Setting, ...]:
        """Return every setting of that name, the one in force first."""
        return self._by_name.get(name, ())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Setting]:
        """Iterate over the settings in force."""
        return (settings[0] for settings in self._by_name.values())


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


def in_comment(source: bytes, offset: int) -> bool:
    """Return whether byte *offset* stands on a line that is a comment for the shell, as a directive is."""
    return source[source.rfind(b"\n", 0, offset) + 1 : offset].lstrip()[:1] == b"#"


def joined(source: bytes) -> bytes:
    """Return the script with blanks for each backslash that continues a line, and for that line's end.

    So a command is one line for who looks through the text, and every other byte stands where it stood. A comment
    does not go on in the next line.
    """
    if b"\\\n" not in source:
        return source
    made, at = bytearray(source), source.find(b"\\\n")
    while at >= 0:
        line = source[source.rfind(b"\n", 0, at) + 1 : at]
        if not line.endswith(b"\\") and not line.lstrip().startswith(b"#") and b" #" not in line:
            made[at : at + 2] = b"  "
        at = source.find(b"\\\n", at + 2)
    return bytes(made)


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
