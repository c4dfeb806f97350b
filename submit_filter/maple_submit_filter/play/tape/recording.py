"""What a play did, stretch by stretch, so that the play of nearly the same script need not do all of it again.

A repair tries one change after the other, and each makes a script that is played through. A stretch of commands at the
top level that stands in both scripts does the same in both if all that it asks for is the same: then what it did is
taken over, where it stands now. What a stretch asks for is noted while it is played; what is noted nowhere has to be
the same altogether. Up to the first difference whatever a stretch did is taken over; behind it only what sets variables
and writes files is, for a launch line asks for everything.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Callable, Dict, FrozenSet, Iterator, NamedTuple, Optional, Sequence, Set, Tuple

from ...bash.nodes import Item, Program
from ...bash.rereading import Cut, recall
from ...site.facts import Site
from ...types.edits import Span
from ...types.launch_plan import Allocation, Noted
from ...types.text import Text
from ..scene import Machine, Scene
from ..shell_state import Shell, Variable

MOST_STRETCHES, LEAST = 32, 8  # of a script; commands of one
ALL = b"\0all"  # what a look at all variables asks for
Play = Callable[[Sequence[Item]], object]
# What is told apart below; all else that a shell or a scene holds has to be the same.
_OF_SHELL = frozenset(("variables", "base", "mentioned", "uses", "depth", "presumes"))
_OF_SCENE = frozenset(
    ("granted", "_machine", "begun_with", "asked", "commands", "assigned", "assignments", "files", "wrote_to")
)


class Watched(MutableMapping[bytes, Variable]):
    """The variables of the batch shell: which are asked for before they are set, and which are set.

    Of those that are set it is known which are *new*, for a look at all finds them in the order in which they came.
    """

    __slots__ = ("ask", "new", "own", "written")

    def __init__(self, own: Dict[bytes, Variable], asked: Set[bytes]) -> None:
        self.own, self.ask = own, asked.add
        self.written: Dict[bytes, None] = {}
        self.new: Set[bytes] = set()

    def __getitem__(self, name: bytes) -> Variable:
        self.ask(name)
        return self.own[name]

    def get(self, name: bytes, default: Any = None) -> Any:
        """Return a variable, or what is to stand for one that is not there."""
        self.ask(name)
        return self.own.get(name, default)

    def __contains__(self, name: Any) -> bool:
        self.ask(name)
        return name in self.own

    def __setitem__(self, name: bytes, value: Variable) -> None:
        self.ask(name)  # whether it is there: its place among all is asked for
        if name not in self.own:
            self.new.add(name)
            self.written.pop(name, None)
        self.written[name] = None
        self.own[name] = value

    def __delitem__(self, name: bytes) -> None:
        self.ask(name)
        del self.own[name]
        self.written[name] = None

    def __iter__(self) -> Iterator[bytes]:
        self.ask(ALL)
        return iter(list(self.own))

    def __len__(self) -> int:
        self.ask(ALL)
        return len(self.own)


class Stretch(NamedTuple):
    """Commands that follow each other, from byte *start* to *end* of the script, and what they did.

    *quiet*: nothing but what stands here. *after*: all else, behind them.
    """

    start: int
    end: int
    items: int
    asked: FrozenSet[bytes]
    variables: Dict[bytes, Optional[Variable]]  # None: there is none any more
    new: FrozenSet[bytes]  # those that came behind all others
    files: Dict[bytes, Optional[Text]]
    assigned: Tuple[Tuple[bytes, Span], ...]
    uses: Tuple[Noted, ...]
    commands: int
    quiet: bool
    after: Dict[str, Any]


class Recording(NamedTuple):
    """A play: what it began with, and its stretches up to where the script was left."""

    source: Text
    variables: Dict[bytes, Variable]
    files: Dict[bytes, Optional[Text]]
    allocation: Allocation
    machine: Machine
    before: Dict[str, Any]
    stretches: Tuple[Stretch, ...] = ()


class Tape:
    """Holds the recording of one play for those that follow, of scripts that edits make of it."""

    def __init__(self) -> None:
        self.recording: Optional[Recording] = None

    def on(self, site: Site, alike: bool) -> None:
        """Go on with another site; only where all is played *alike* there, what was recorded is of use."""
        self.recording = _on(self.recording, site) if self.recording is not None and alike else None


def _on(recording: Recording, site: Site) -> Recording:
    stretches = tuple(stretch._replace(after={**stretch.after, "site": site}) for stretch in recording.stretches)
    return recording._replace(before={**recording.before, "site": site}, stretches=stretches)


def rest(shell: Shell, scene: Scene) -> Dict[str, Any]:
    """Return all that a shell at the top level and the scene hold, but what is told apart."""
    held = {name: _kept(getattr(shell, name)) for name in Shell.__slots__ if name not in _OF_SHELL}
    held.update((name, _kept(value)) for name, value in vars(scene).items() if name not in _OF_SCENE)
    return held


def _kept(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict, set) else value


def _is_still(held: Dict[str, Any], shell: Shell, scene: Scene) -> bool:
    """Return whether shell and scene hold what was held."""
    of_scene = vars(scene)
    for name, value in held.items():
        now = of_scene[name] if name in of_scene else getattr(shell, name)
        if now is not value and now != value:
            return False
    return True


def restore(held: Dict[str, Any], shell: Shell, scene: Scene) -> None:
    """Give shell and scene all that was held."""
    for name, value in held.items():
        setattr(shell if name in Shell.__slots__ else scene, name, _kept(value))


def cuts_of(source: bytes, program: Program) -> Optional[Tuple[Cut, ...]]:
    """Return where reading stood between two commands, the end included; None where that is not known."""
    known = recall(source)
    return (*known.cuts, (len(source), len(program.items))) if known is not None and known.program is program else None


def record(program: Program, shell: Shell, scene: Scene, play: Play, tape: Tape) -> None:
    """Play a script's commands, and hold on *tape* what they did, as far as the script is not left in between."""
    cuts = cuts_of(shell.base.raw, program)
    if cuts is None:
        play(program.items)
        return
    shell.variables = watched = Watched(dict(shell.variables), scene.asked)
    files, before = dict(scene.files), rest(shell, scene)
    tape.recording = Recording(shell.base, dict(watched.own), files, scene.granted, scene.machine(), before)
    least = max(LEAST, len(program.items) // MOST_STRETCHES)
    begun = cuts[0]
    for cut in cuts[1:]:
        if cut[1] - begun[1] < least and cut is not cuts[-1]:
            continue
        marks = _begin(shell, scene)
        play(program.items[begun[1] : cut[1]])
        stretch = _ended(begun, cut, marks, shell, scene, before)
        before, begun = stretch.after, cut
        tape.recording = tape.recording._replace(stretches=(*tape.recording.stretches, stretch))


Marks = Tuple[int, int, int]


def _begin(shell: Shell, scene: Scene) -> Marks:
    """Forget what was noted, and return how far the lists are that go on."""
    assert isinstance(shell.variables, Watched)
    scene.asked.clear()
    scene.wrote_to.clear()
    shell.variables.written.clear()
    shell.variables.new.clear()
    return len(scene.assignments), len(shell.uses or ()), scene.commands


def _ended(begun: Cut, cut: Cut, marks: Marks, shell: Shell, scene: Scene, before: Dict[str, Any]) -> Stretch:
    assert isinstance(shell.variables, Watched)
    own, quiet = shell.variables.own, _is_still(before, shell, scene)
    return Stretch(
        begun[0],
        cut[0],
        cut[1] - begun[1],
        frozenset(scene.asked),
        {name: own.get(name) for name in shell.variables.written},
        frozenset(shell.variables.new),
        {name: scene.files[name] for name in scene.wrote_to},
        tuple(scene.assignments[marks[0] :]),
        tuple((shell.uses or [])[marks[1] :]),
        scene.commands - marks[2],
        quiet,
        before if quiet else rest(shell, scene),
    )
