"""Plays a piece of bash through Maple and through bash itself: the argument lists of the command `capture`, twice."""

from __future__ import annotations

import subprocess

from maple_submit_filter.play.interpreter import Interpreter
from maple_submit_filter.play.scene import Scene, Trail
from maple_submit_filter.play.shell_state import Place, Shell
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.job import Read
from maple_submit_filter.types.launch_plan import Allocation
from maple_submit_filter.types.text import Piece, Text

UNKNOWN = Allocation(2, 2, 1, None, None, None, (), "", None)


def captured(source: bytes, read: Read | None = None) -> list[list[Text]]:
    """The words of each `capture` that the script would start, as Maple expands them."""
    scene = Scene(UNKNOWN, GENERIC_SLURM, read)
    seen: list[list[Text]] = []

    def execute(argv: list[Text], shell: Shell, trail: Trail, given: Text | None) -> None:
        if argv[0].raw == b"capture":
            seen.append(argv[1:])

    text = Text((Piece(source, 0),))
    shell = Shell(Place(), text, source)
    Interpreter(scene, execute).script(text, shell, Trail())
    return seen


def by_bash(source: bytes) -> list[list[bytes]]:
    """The words of each `capture`, as bash expands them."""
    define = b'capture() { printf \'%s\\0\' "$#" "$@"; }\n'
    ran = subprocess.run(["bash", "--norc"], input=define + source, capture_output=True, timeout=20, cwd="/")
    words = ran.stdout.split(b"\0")[:-1]
    out: list[list[bytes]] = []
    while words:
        count = int(words[0])
        out.append(words[1 : 1 + count])
        words = words[1 + count :]
    return out
