"""A right script as the slips see it: what its text says, and where its launch line stands. Maple is not asked."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Mapping, NamedTuple, Optional, Sequence

from tests.reality.corpus import Case
from tests.reality.places import Line, body_start, launch_lines

GPU_NODES = re.compile(rb"(?m)^#(?:SBATCH|PBS)[^\n]*(?:gpu|gres|ngpus)", re.IGNORECASE)
_NODES = re.compile(rb"(?m)^#SBATCH[^\n#]*?[ \t](?:--nodes[= ]+|-N[ =]*)(\d+)")
_CHUNKS = re.compile(rb"(?m)^#PBS[^\n#]*?[ \t]-l[ \t]*(?:select|nodes)=(\d+)")
_TASKS_PER_NODE = re.compile(rb"(?m)^#SBATCH[^\n#]*?[ \t]--ntasks-per-node[= ]+(\d+)")
PROGRAM = re.compile(rb"(?<![\w./-])(?:torchrun|accelerate launch|deepspeed|python3?)(?![\w.-])")
Span = tuple[int, int]


class _Right(NamedTuple):
    case: Case
    beside: tuple[tuple[str, bytes], ...] = ()


class Script(_Right):
    """A script with one launch line that is a statement of its own, and the files beside it."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """Return what lies beside it, by path."""
        return dict(self.beside)

    @property
    def text(self) -> bytes:
        """Return the bytes."""
        return self.case.script or b""

    @property
    def is_pbs(self) -> bool:
        """Return whether it is sent by qsub."""
        return self.case.scheduler == "pbs"

    @cached_property
    def line(self) -> Line:
        """Return the launch line."""
        return only_line(self.text)  # type: ignore[return-value]

    @property
    def launch(self) -> bytes:
        """Return the words of the launch line."""
        return self.text[self.line.start : self.line.end]

    @cached_property
    def nodes(self) -> Optional[int]:
        """Return how many nodes its directives ask for; None where they do not say it by one number."""
        found = (_CHUNKS if self.is_pbs else _NODES).findall(self.text)
        return int(found[0]) if len(found) == 1 else None

    @cached_property
    def tasks_per_node(self) -> Optional[int]:
        """Return what --ntasks-per-node of its directives says."""
        found = _TASKS_PER_NODE.findall(self.text)
        return int(found[0]) if len(found) == 1 else None

    @property
    def several_nodes(self) -> bool:
        """Return whether it asks for more than one node."""
        return self.nodes is not None and self.nodes > 1

    @property
    def has_gpus(self) -> bool:
        """Return whether its directives speak of GPUs."""
        return bool(GPU_NODES.search(self.text))

    @property
    def program(self) -> Optional[Span]:
        """Return where the launch line names what it starts in the end: torchrun, python ... (the first of them)."""
        found = PROGRAM.search(self.text, self.line.start, self.line.end)
        return found.span() if found is not None else None

    @property
    def body(self) -> int:
        """Return where the first line behind the directives begins."""
        return body_start(self.text)

    def has(self, *words: bytes) -> bool:
        """Return whether each of these stands in it."""
        return all(word in self.text for word in words)

    def put(self, start: int, end: int, new: bytes) -> bytes:
        """Return the text with *new* in place of a span."""
        return self.text[:start] + new + self.text[end:]

    def before(self, lines: bytes) -> bytes:
        """Return the text with *lines* in front of the launch line."""
        return self.put(self.line.start, self.line.start, lines)

    def swap(self, pattern: bytes, new: bytes, within: Optional[Span] = None) -> Optional[bytes]:
        """Return the text with the first match outside comments replaced; None where there is none."""
        start, end = within or (0, len(self.text))
        for found in re.compile(pattern, re.MULTILINE).finditer(self.text, start, end):
            if not _is_comment(self.text, found.start()):
                return self.put(*found.span(), found.expand(new))
        return None

    def swap_launch(self, pattern: bytes, new: bytes) -> Optional[bytes]:
        """Return the text with the first match on the launch line replaced."""
        return self.swap(pattern, new, (self.line.start, self.line.end))


def _is_comment(text: bytes, at: int) -> bool:
    start = text.rfind(b"\n", 0, at) + 1
    return text[start:at].lstrip()[:1] == b"#" and not text.startswith((b"#SBATCH", b"#PBS"), start)


def only_line(text: bytes) -> Optional[Line]:
    """Return the launch line where there is one, which is a statement of its own at the left margin."""
    lines = launch_lines(text)
    alone = [line for line in lines if line.alone and (line.start == 0 or text[line.start - 1 : line.start] == b"\n")]
    return alone[0] if len(lines) == len(alone) == 1 else None


def with_one_line(rights: Sequence[tuple[Case, Mapping[str, bytes]]]) -> list[Script]:
    """Return the scripts that can take slips: sent as a file with no word more, and with one plain launch line."""
    return [
        Script(case, tuple(files.items()))
        for case, files in rights
        if case.script is not None
        and case.words == ("{}",)
        and not case.stdin
        and only_line(case.script) is not None
        and b"hetjob" not in case.script
    ]
