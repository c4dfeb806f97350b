"""Which hosts an mpiexec line names: by list, by file, or those of the job's node file."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence

from ...play.outputs import lines, node_of
from ...play.scene import Scene
from ...play.shell_state import Shell
from ...types.launch_plan import Allocation, Link
from ...types.text import Text

FILES = ("hostfile", "machinefile", "f", "machine", "machines", "machinelist")
LISTS = ("hosts", "host", "hostlist", "H")
_SLOTS = re.compile(rb"\s+(?:slots|max[-_]slots)\s*=\s*(\d{1,6})")
_COLON = re.compile(rb":(\d{1,6})\s*\Z")


class Host(NamedTuple):
    """A node of the job by its number, and how many ranks the line or file gives it (its slots)."""

    node: int
    slots: int
    said: bool  # the slots were said, not counted by the lines


def hosts(one: Link, shell: Shell, scene: Scene) -> Optional[List[Host]]:
    """Return the hosts in order, None where they are not known."""
    listed = one.option(*LISTS)
    if listed is not None:
        return _merged(_split(listed.value)) if listed.value is not None else None
    named = one.option(*FILES)
    if named is not None:
        content = scene.content(named.value, shell.cwd) if named.value is not None else None
        return _merged(lines(content)) if content is not None and not content.open else None
    return of_job(scene.allocation)


def of_job(given: Allocation) -> Optional[List[Host]]:
    """Return the hosts of the job's node file."""
    if given.node_file is None:
        return None
    return [Host(node, count, False) for node, count in enumerate(given.node_file) if count]


def _split(text: Text) -> List[Text]:
    out: List[Text] = []
    at = 0
    raw = text.raw
    for piece in raw.split(b","):
        out.append(text.slice(at, at + len(piece)))
        at += len(piece) + 1
    return out


def _merged(many: Sequence[Text]) -> Optional[List[Host]]:
    """Return each node once, in order; None where a line is not understood, or a node comes back later."""
    out: List[Host] = []
    for line in many:
        raw = line.raw
        if not raw.strip() or raw.lstrip().startswith(b"#"):
            continue
        found = _SLOTS.search(raw) or _COLON.search(raw)
        end = found.start() if found else len(raw)
        start = len(raw) - len(raw.lstrip())
        node = node_of(line.slice(start, start + len(raw[start:end].rstrip())))
        if node is None:
            return None
        count = int(found.group(1)) if found else 1
        if out and out[-1].node == node and not found:
            out[-1] = out[-1]._replace(slots=out[-1].slots + 1)
        elif any(one.node == node for one in out):
            return None
        else:
            out.append(Host(node, count, found is not None))
    return out or None
