"""Launch lines that name no program."""

from __future__ import annotations

from typing import Optional, Tuple

from ..bash import nodes
from ..types.text import Text, plain
from .grammar import Table, read
from .mpi.options import TABLES
from .registry import NAMED

_ASKED = frozenset((b"--version", b"-V", b"--help", b"-h", b"--usage", b"--mpi=list"))


def starts_no_program(command: nodes.Simple) -> bool:
    """Return whether a command is a launcher with options alone, whatever its variables hold.

    One of them has a value: flags alone, such as horovodrun's --check-build, may ask the launcher about itself.
    """
    argv = [_stand_in(word) for word in command.words]
    if len(argv) < 2 or any(text.raw in _ASKED for text in argv):
        return False
    own = 2 if argv[0].raw == b"accelerate" else 1
    every = [read(table, argv, own) for table in _tables(argv[0].raw)]
    readings = [reading for reading in every if not reading.problem] or every  # of the makers that take these words
    ended = [reading for reading in readings if reading.program >= len(argv)]
    valued = (any(option.value is not None for option in each.options) for each in ended if not each.problem)
    return len(ended) == len(readings) and any(valued)


def _stand_in(word: nodes.Word) -> Text:
    """Return a word with a number for each of its values."""
    return plain(b"".join(part.text if isinstance(part, nodes.Literal) else b"1" for part in word.parts))


def _tables(name: bytes) -> Tuple[Table, ...]:
    launcher = NAMED.get(name.rsplit(b"/", 1)[-1].decode("ascii", "replace"))
    table: Optional[Table] = launcher.table if launcher is not None and launcher.agent is None else None
    if launcher is not None and launcher.name == "mpiexec":
        return tuple(TABLES.values())
    return (table,) if table is not None else ()
