"""A script played with what is taken over from the play of another: each stretch that asks for nothing that differs."""

from __future__ import annotations

from typing import Any, Dict, Optional, Set, Tuple

from ...bash.nodes import Command, Program
from ...types.text import NUL, Text
from ..scene import ALLOCATION, FIRST, MACHINE, MOST_COMMANDS, OF_FILE, Scene
from ..shell_state import PLACED, Shell, Variable
from .displacement import Displaced, Displacement, displacement
from .recording import ALL, Play, Recording, Stretch, Watched, cuts_of, rest, restore

_RESULTS = frozenset(("starts", "shapes", "ended"))  # nothing is asked of these on the way
_RUNNING = frozenset(("beside", "within"))  # asked for is whether any is there
# Tokens that are surely named for no place of the script.
_NAMED = (b"same:env.", b"same:login.", b"same:of user.", b"host:", b"addr:", b"name:", b"some:", b"job", b"node")


def take_over(program: Program, shell: Shell, scene: Scene, play: Play, recording: Recording) -> None:
    """Play a script's commands, and take over from *recording* what would be the same."""
    cuts = cuts_of(shell.base.raw, program)
    moves = displacement(recording.source, shell.base) if cuts is not None else None
    if cuts is None or moves is None or scene.presumes:
        play(program.items)
        return
    shell.variables = watched = Watched(dict(shell.variables), scene.asked)
    taking = _Taking(recording, moves, shell, scene, watched)
    counts, at = dict(cuts), 0
    for (start, index), (_, behind) in zip(cuts, cuts[1:]):
        if index < at:
            continue
        at = taking.stretch(start, counts)
        if not at:
            at, taking.settled = behind, False
            play(program.items[index:at])


class _Taking:
    """What differs between the play that was recorded and the one that is going on."""

    def __init__(self, recording: Recording, moves: Displacement, shell: Shell, scene: Scene, watched: Watched) -> None:
        self.recording, self.moves, self.shell, self.scene, self.watched = recording, moves, shell, scene, watched
        self.behind = 0  # the stretches of the recording that were come by
        self.was: Dict[bytes, Optional[Variable]] = dict(recording.variables)  # the variables there
        self.had: Dict[bytes, Optional[Text]] = dict(recording.files)
        self.before = recording.before
        self.differs = self._at_first()
        self.settled = True  # whether what differs is known
        self.level = self._alike(rest(shell, scene))  # whether all that is told apart nowhere is the same
        self.same = self.level and not self.differs  # so far nothing was another
        self.unchanged = next((start for start, by in zip(moves.starts, moves.by) if by is None), moves.size)
        self._forget()

    def _forget(self) -> None:
        self.watched.written.clear()
        self.scene.wrote_to.clear()

    def _at_first(self) -> Set[bytes]:
        now, was = self.watched.own, self.recording.variables
        differs = {name for name in {*now, *was} if now.get(name) != was.get(name)}
        differs |= {FIRST} if differs else set()
        differs |= {ALLOCATION} if self.scene.granted != self.recording.allocation else set()
        differs |= {MACHINE} if self.scene.machine() != self.recording.machine else set()
        return differs | {OF_FILE + name for name in {*self.scene.files, *self.had} if self._file_differs(name)}

    def _file_differs(self, name: bytes) -> bool:
        files = self.scene.files
        return (name in files) != (name in self.had) or self._differs(self.had.get(name), files.get(name))

    def _differs(self, was: Any, now: Any) -> bool:
        try:
            return bool(self.moves.value(was) != now)
        except Displaced:
            return True

    def stretch(self, start: int, counts: Dict[int, int]) -> int:
        """Take over the stretch that begins here; return how many commands are behind then, 0 where it is to be played.

        *counts*: how many commands are in front of each place between two.
        """
        for stretch in self.recording.stretches[self.behind :]:
            here = self._begins(stretch)
            if here > start:
                break
            end = counts.get(here + stretch.end - stretch.start)
            if here == start and end == counts[start] + stretch.items and self._takes(stretch, here):
                self.behind += 1
                return end
            self._go_by(stretch)
        return 0

    def _begins(self, stretch: Stretch) -> int:
        """Return where a stretch begins now, -1 where that is not known."""
        try:
            return stretch.start + self.moves.shift(stretch.start, stretch.start)
        except Displaced:
            return -1

    def _go_by(self, stretch: Stretch) -> None:
        """Leave a stretch out: what it did counts in the recording alone."""
        self.behind += 1
        self.settled = False
        self.was.update(stretch.variables)
        self.had.update(stretch.files)
        self.watched.written.update(dict.fromkeys(stretch.variables))
        self.scene.wrote_to.update(stretch.files)
        self.before = stretch.after

    def _settle(self) -> None:
        """Find out what differs, behind commands that were played."""
        self.same, self.settled = False, True
        for name in self.watched.written:
            self._mark(name, self._differs(self.was.get(name), self.watched.own.get(name)))
        for name in self.scene.wrote_to:
            self._mark(OF_FILE + name, self._file_differs(name))
        self.level = self._alike(rest(self.shell, self.scene))
        self._forget()

    def _mark(self, name: bytes, differs: bool) -> None:
        (self.differs.add if differs else self.differs.discard)(name)

    def _alike(self, now: Dict[str, Any]) -> bool:
        """Return whether what is told apart nowhere is the same as it was there."""
        return all(self._like(name, value, now[name]) for name, value in self.before.items())

    def _like(self, name: str, was: Any, now: Any) -> bool:
        if name in _RESULTS:
            return True
        if name in _RUNNING:
            return bool(was) == bool(now)
        if name == "functions":
            return list(was) == list(now) and all(self._is_function(was[name], now[name]) for name in was)
        return was is now or not self._differs(was, now)

    def _is_function(self, was: Tuple[Command, Text], now: Tuple[Command, Text]) -> bool:
        """Return whether a function is the same one, where it stands now."""
        if was[1] is not self.moves.old or now[1] is not self.moves.new:
            return was == now
        old, new = was[0].span, now[0].span
        same = self.moves.old.raw[old.start : old.end] == self.moves.new.raw[new.start : new.end]
        return same and not self._differs(old, new)

    def _takes(self, stretch: Stretch, here: int) -> bool:
        """Take over a stretch, if what it does here is what it did there, and return whether it was."""
        if not self.settled:
            self._settle()
        alike = self.same and stretch.end <= self.unchanged
        if not (alike or (self.level and stretch.quiet)) or not self._asks_the_same(stretch):
            return False
        if self.scene.commands + stretch.commands > MOST_COMMANDS // 2 or not self._reads_the_same(stretch, here):
            return False
        try:
            moved = self._moved(stretch)
        except Displaced:
            return False
        self._do(moved)
        if alike:
            restore(self._held(stretch.after), self.shell, self.scene)
        self._come_by(stretch)
        return True

    def _asks_the_same(self, stretch: Stretch) -> bool:
        if self.differs and (ALL in stretch.asked or not self.differs.isdisjoint(stretch.asked)):
            return False
        return not any(self.moves.mentioned_otherwise(name) for name in stretch.asked)

    def _reads_the_same(self, stretch: Stretch, here: int) -> bool:
        """Return whether the same bytes stand here, and no value is named for the place where it once stood."""
        size, new = stretch.end - stretch.start, self.moves.new.raw
        if self.moves.old.raw[stretch.start : stretch.end] != new[here : here + size]:
            return False
        return here == stretch.start or PLACED not in stretch.asked or not _is_placed(stretch)

    def _moved(self, stretch: Stretch) -> Stretch:
        value = self.moves.value
        return stretch._replace(
            variables=value(stretch.variables),
            files=value(stretch.files),
            assigned=value(stretch.assigned),
            uses=tuple([self.moves.noted(use) for use in stretch.uses]),
        )

    def _do(self, moved: Stretch) -> None:
        """Have done what a stretch does."""
        own, scene = self.watched.own, self.scene
        for name, variable in moved.variables.items():
            if variable is None or name in moved.new:
                own.pop(name, None)
            if variable is not None:
                own[name] = variable
        scene.files.update(moved.files)
        for name, span in moved.assigned:
            scene.assign(name, span)
        if self.shell.uses is not None:
            self.shell.uses += moved.uses
        scene.commands += moved.commands

    def _held(self, after: Dict[str, Any]) -> Dict[str, Any]:
        """Return all else as it is then: functions stand in the script that is played."""
        old, new = self.moves.old, self.moves.new
        functions = {name: (body, new if base is old else base) for name, (body, base) in after["functions"].items()}
        return {**after, "functions": functions}

    def _come_by(self, stretch: Stretch) -> None:
        """Both plays are behind a stretch now, and it was the same in both."""
        self.was.update(stretch.variables)
        self.had.update(stretch.files)
        self.differs.difference_update(stretch.variables, [OF_FILE + name for name in stretch.files])
        self.before = stretch.after


def _is_placed(stretch: Stretch) -> bool:
    """Return whether a token stands in what a stretch leaves that may be named for a place of the script."""
    texts = [text for variable in stretch.variables.values() if variable is not None for text in variable.texts()]
    texts += [text for text in stretch.files.values() if text is not None]
    texts += [use[0] for use in stretch.uses if len(use[0].pieces) != 1 or NUL in use[0].raw]
    tokens = (token for text in texts for token in text.raw.split(NUL)[1::2])
    return not all(token.startswith(_NAMED) for token in tokens)
