"""ssh, pbs_tmrsh and pbsdsh: a command on another node of the job, in an environment that is not the script's.

ssh joins its words with blanks and gives them to a login shell there; nothing that the script exported follows.
pbs_tmrsh and pbsdsh (OpenPBS 23.06) start the words as they are, with the job's own first environment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Mapping, Optional, Tuple

from ..play.outputs import node_of
from ..play.program_owner import SCHEDULER
from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Parent, Place, Shell, Variable, joined
from ..types.launch_plan import Link
from ..types.text import Text, host, number, plain, token
from .grammar import place
from .opaque_programs import LAUNCHER_MARKS, harmless
from .record import Launcher, RankWords

if TYPE_CHECKING:
    from ..play.scene import Starter

_SSH_VALUES = b"BbcDEeFIiJLlmOoPpQRSWw"
_LOST = "a command goes to an unknown node"
_FROM_STDIN = re.compile(
    rb"(?:(?:/usr)?(?:/bin/)?(?:ba|da|k|z)?sh(?: -[abd-z]+| --login)*)?"
)  # a shell that reads what is given


def destination(argv: List[Text]) -> Tuple[Optional[int], int]:
    """Return the node that `ssh HOST COMMAND` names, None where it is not known, and where the command begins."""
    at = _behind_options(argv, _SSH_VALUES)
    return (_node(argv[at]) if at < len(argv) else None), at + 1


def ssh(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Run a command on the node that `ssh HOST COMMAND` names."""
    node, behind = destination(argv)
    at = behind - 1
    if node is None:
        _lose(programs, argv, trail, at)
        return
    there = arrived(programs, shell, node, programs.scene.login)
    trail = _one_task(programs, trail, _link("ssh", argv, at + 1))
    command = argv[at + 1 :]
    if given is not None and _FROM_STDIN.fullmatch(b" ".join(text.raw for text in command)):
        programs.interpreter.script(given, there, trail)
    elif command:
        programs.interpreter.script(joined(tuple(command)), there, trail)


def tmrsh(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start a program on the node that `pbs_tmrsh HOST COMMAND` names."""
    node = _node(argv[1]) if len(argv) > 2 else None
    if node is None:
        _lose(programs, argv, trail, 1)
        return
    at = 2
    while at < len(argv) and argv[at].raw in (b"-n", b"-l"):
        at += 1 if argv[at].raw == b"-n" else 2
    trail = _one_task(programs, trail, _link("pbs_tmrsh", argv, at))
    programs.execute(list(argv[at:]), arrived(programs, shell, node, programs.scene.first), trail, given)


def _one_task(programs: Starter, trail: Trail, link: Link) -> Trail:
    trail = trail._replace(links=trail.links + (link,))
    programs.scene.shapes.setdefault(trail.key, (trail, StepShape(1, 1, None, False, "")))
    return trail


def pbsdsh(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start a program for every line of the node file, or for line N alone (`-n N`, counted from 0).

    That lines and not hosts count is read in manuals, not measured: nothing is proven by it.
    """
    at = _behind_options(argv, b"cn")
    file = programs.scene.allocation.node_file
    chosen = any(text.raw[:2] in (b"-c", b"-n") for text in argv[1:at])
    lines = [(node, local) for node, count in enumerate(file or ()) for local in range(count)]
    index = number(argv[2]) if at > 2 and argv[1].raw == b"-n" else None
    if at >= len(argv) or not lines or len(lines) > MOST_TASKS or (chosen and (index is None or index >= len(lines))):
        _lose(programs, argv, trail, at)
        return
    if index is not None:
        trail = _one_task(programs, trail, _link("pbsdsh", argv, at))
    else:
        trail = trail._replace(links=trail.links + (_link("pbsdsh", argv, at),))
        if set(file or ()) != {1}:
            trail = trail._replace(doubts=(*trail.doubts, "pbsdsh may start it once on each host, or for each line"))
        shape = StepShape(sum(count > 0 for count in file or ()), len(lines), tuple(file or ()), False, "")
        programs.scene.shapes[trail.key] = (trail, shape)
    for task, (node, local) in enumerate(lines) if index is None else [(0, lines[index])]:
        there = arrived(programs, shell, node, programs.scene.first, task, local if index is None else 0)
        number_of_node = plain(b"%d" % node) if set(file or ()) == {1} else plain(token(b"vary", b"nodenum%d" % task))
        there.set(b"PBS_NODENUM", number_of_node, exported=True)
        programs.execute(list(argv[at:]), there, trail, given)


def _behind_options(argv: List[Text], with_value: bytes) -> int:
    """Return the index of the first word that is no option."""
    at = 1
    while at < len(argv) and argv[at].literal and argv[at].raw[:1] == b"-" and len(argv[at].raw) > 1:
        raw = argv[at].raw
        at += 1
        if raw == b"--":
            break
        if raw[-1] in with_value and (len(raw) == 2 or raw[1:-1].isalpha()) and raw[1] not in b"o" * (len(raw) > 2):
            at += 1
    return at


def _node(text: Text) -> Optional[int]:
    raw = text.raw
    at = raw.rfind(b"@")
    return node_of(text.slice(at + 1)) if at >= 0 else node_of(text)


def arrived(
    programs: Starter, shell: Shell, node: int, variables: Mapping[bytes, Variable], task: int = 0, local: int = 0
) -> Shell:
    """Return a shell on the node that begins with *variables*; what the script had set is lost."""
    name = shell.place.name + b".@%d.%d" % (node, task)
    where = Place(node, task, local, name, programs.scene.login_gpus, None)
    there = Shell(where, shell.base, shell.mentioned)
    there.softly, there.presumes = True, shell.presumes
    there.depth, there.uses = shell.depth, shell.uses
    there.variables.update({name: Variable() for name in shell.variables if not _of_login(name)})
    there.variables.update(variables)
    there.set(b"HOSTNAME", plain(host(node)))
    lost = {
        name: variable._replace(exported=False)
        for name, variable in shell.variables.items()
        if not there.get(name).texts()
    }
    there.parents = (*shell.parents, Parent(lost))
    there.cwd = programs.scene.home
    return there


def _of_login(name: bytes) -> bool:
    """Return whether a login sets a variable of that name as well, though the script may have changed it."""
    return b"PATH" in name or name in (b"TMPDIR", b"LANG", b"TERM", b"EDITOR", b"PAGER", b"CUDA_HOME")


def _link(name: str, argv: List[Text], end: int) -> Link:
    first = place(argv[0])
    return Link(name, tuple(argv[:end]), (), first, first.end if first is not None else None, False)


def _lose(programs: Starter, argv: List[Text], trail: Trail, at: int) -> None:
    """Say that a launcher may be carried elsewhere; a command that is surely none is passed over."""
    words = b" ".join(text.raw for text in argv[at:])
    programs.scene.strangers = programs.scene.strangers or not harmless(words)
    if any(mark in words for mark in LAUNCHER_MARKS) or any(text.open for text in argv[at:]):
        programs.scene.note(trail.span.start if trail.span else -1, _LOST)
        programs.scene.hidden = True


LAUNCHERS = (
    Launcher("ssh", {b"ssh": ssh, b"rsh": ssh}),
    Launcher("pbs_tmrsh", {b"pbs_tmrsh": tmrsh}, SCHEDULER),
    Launcher("pbsdsh", {b"pbsdsh": pbsdsh}, SCHEDULER, words=RankWords(b"PBS_NODENUM", b"", b"PBS_NODENUM", b"")),
)
