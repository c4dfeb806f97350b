"""Plays a script through, as its shell would, as far as values are known; launch lines go to the launchers."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ..bash.nodes import (
    AndOr,
    ArithCommand,
    Case,
    Command,
    Function,
    Group,
    If,
    Item,
    Loop,
    Param,
    Pipeline,
    Program,
    Simple,
    Test,
    Unread,
)
from ..bash.parser import parse
from ..bash.questions import file_written
from ..types.text import Text, join, plain
from .builtins import BUILTINS
from .compound import Compound, Leave
from .expansion import fields, word
from .program_owner import of_command
from .scene import MOST_COMMANDS, PIECES_OF_A_COMMAND, WORDS_OF_A_COMMAND, Scene, Trail
from .shell_state import DEEPEST, Shell
from .tape.recording import Tape, record
from .values import BRIEF

Execute = Callable[[List[Text], Shell, Trail, Optional[Text]], None]
_ENDS = frozenset((b"pkill", b"killall", b"scancel", b"fuser"))
_ENVIRONMENT_COMMANDS = frozenset(b"module ml conda mamba micromamba spack pyenv workon deactivate modtree".split())


class Interpreter(Compound):
    """Runs programs against a scene. *execute* starts what is no shell matter."""

    def __init__(self, scene: Scene, execute: Execute) -> None:
        self.scene = scene
        self.execute = execute

    # --- programs ---------------------------------------------------------------------------------------------

    def text(self, source: Text, shell: Shell, trail: Trail, tape: Optional[Tape] = None) -> None:
        """Run a script text in *shell*, which is changed; with a *tape* as `recording` says."""
        if shell.depth > DEEPEST or not source.raw:
            return
        before, shell.base = shell.base, source
        shell.depth += 1
        try:
            self._text(parse(source.raw), shell, trail, tape)
        finally:
            shell.base = before
            shell.depth -= 1

    def _text(self, program: Program, shell: Shell, trail: Trail, tape: Optional[Tape]) -> None:
        """Run a program; the first time it is put on the tape, and from then on what is the same is taken over."""

        def play(items: Sequence[Item]) -> None:
            self.items(items, shell, trail)

        if tape is None:
            play(program.items)
        elif tape.recording is None:
            record(program, shell, self.scene, play, tape)
        else:
            from .tape.takeover import take_over

            take_over(program, shell, self.scene, play, tape.recording)

    def script(self, source: Text, shell: Shell, trail: Trail, tape: Optional[Tape] = None) -> None:
        """Run a whole script, up to its end or its `exit`."""
        try:
            self.text(source, shell, trail, tape)
        except Leave:
            return

    def program(self, program: Program, shell: Shell, trail: Trail) -> Optional[int]:
        """Run a list of commands; return the last status: 0, 1 for failure, None unknown."""
        return self.items(program.items, shell, trail)

    def items(self, items: Sequence[Item], shell: Shell, trail: Trail) -> Optional[int]:
        status: Optional[int] = 0
        for item in items:
            if item.background:
                before = len(self.scene.starts)
                self.aside(item.command, shell.fork(), trail._replace(background=True))
                if not trail.background:
                    kept = self.scene.within if trail.links else self.scene.beside
                    kept += self.scene.starts[before:]
                status = 0
            else:
                status = self.command(item.command, shell, trail)
        return status

    def command(self, command: Command, shell: Shell, trail: Trail) -> Optional[int]:
        """Run one command of any kind."""
        self.scene.commands += 1
        if self.scene.commands > MOST_COMMANDS:
            self.scene.note(self.offset(shell, command.span.start), "the script is too long to analyse")
            self.scene.strangers = True  # what is not played may be the rest of a world
            raise Leave
        trail = trail._replace(phase=self.scene.phase, maybe=trail.maybe or bool(shell.skips))
        return _RUN[type(command)](self, command, shell, trail)

    def simple(self, simple: Simple, shell: Shell, trail: Trail) -> Optional[int]:
        argv, vanished = self._words(simple, shell)
        if vanished:
            trail = trail._replace(vanished=trail.vanished + vanished)
        if not argv:
            for assignment in simple.assignments:
                self.assign(assignment, shell)
            return 0
        argv, own = self._past(argv), argv[0].raw in shell.functions
        name = argv[0].raw if argv[0].literal and not own else b""
        given = self.stdin(simple.redirects, shell)
        if name in BUILTINS and not (name == b"exec" and len(argv) > 1):
            for assignment in simple.assignments:
                self.assign(assignment, shell)
            return BUILTINS[name](self, simple, argv, shell, trail, given)
        if self.written(simple, argv, shell, given) or self.rewritten(argv, shell):
            return None
        return self._start(simple, argv, shell, trail, given)

    def _past(self, argv: List[Text]) -> List[Text]:
        """Return the words behind `builtin` or `command`, where they are a command of the shell's own."""
        while len(argv) > 1 and argv[0].raw in (b"builtin", b"command") and argv[1].raw in BUILTINS:
            argv = argv[1:]
        return argv

    def _words(self, simple: Simple, shell: Shell) -> Tuple[List[Text], Tuple[bytes, ...]]:
        """Return the words of a command, and the names of unquoted variables that left none."""
        argv: List[Text] = []
        vanished: Tuple[bytes, ...] = ()
        for each in simple.words:
            got = fields(shell, each, self.substitute)
            if not got and len(each.parts) == 1 and isinstance(each.parts[0], Param):
                vanished += (each.parts[0].name,)
            argv += got
        pieces = sum(len(text.pieces) for text in argv)
        self.scene.commands += len(argv) // WORDS_OF_A_COMMAND + pieces // PIECES_OF_A_COMMAND
        return argv, vanished

    def _start(
        self, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
    ) -> Optional[int]:
        name = argv[0].raw
        if trail.span is None or not trail.links:
            trail = trail._replace(span=shell.base.span(simple.span.start, simple.span.end) or trail.span)
        trail = trail._replace(key=trail.key + (self.key(simple, shell),))
        if name in shell.functions:
            return self._call(argv, shell, trail)
        if name in _ENVIRONMENT_COMMANDS:
            shell.softly = True
            shell.unsettle(of_command(argv, shell.unsettled))
            return 0
        self.scene.kills = self.scene.kills or name.rsplit(b"/", 1)[-1] in _ENDS
        if not trail.background and name.rsplit(b"/", 1)[-1] not in BRIEF:
            self.scene.beside.clear()
            self.scene.within.clear()
        around = shell.fork() if simple.assignments else shell
        for assignment in simple.assignments:
            self.assign(assignment, around, exported=True)
        self.execute(argv, around.spawn(), trail, given)
        if name == b"exec":
            raise Leave
        return None

    def key(self, simple: Simple, shell: Shell) -> Tuple[int, int]:
        start = shell.base.pieces[0].start if shell.base.pieces else -1
        return (start, simple.span.start)

    def _call(self, argv: List[Text], shell: Shell, trail: Trail) -> Optional[int]:
        if shell.depth > DEEPEST:
            return None
        body, base = shell.functions[argv[0].raw]
        positional, before = shell.positional, shell.base
        shell.positional, shell.base = argv[1:], base
        shell.depth += 1
        shell.scopes.append({})
        try:
            return self.command(body, shell, trail)
        except Leave as leave:
            if not leave.function:
                raise
            return None
        finally:
            shell.leave_function()
            shell.positional, shell.base = positional, before
            shell.depth -= 1

    def written(self, simple: Simple, argv: List[Text], shell: Shell, given: Optional[Text]) -> bool:
        """Remember `cat > file <<EOF`, `echo ... >> file` and the like; return whether that is all there was."""
        target, name = file_written(simple.redirects), argv[0].raw.rsplit(b"/", 1)[-1]
        if name == b"tee":
            self.copied_out(argv, shell, given)
        if target is None or target.target is None:
            return False
        path = word(shell, target.target, self.substitute)
        text = given if name == b"cat" and len(argv) == 1 else self.printed(argv, shell, given)
        if target.fd in (None, b"", b"1"):
            self.scene.write(path, shell.cwd, text, b">>" in target.op)
        return text is not None

    def rewritten(self, argv: List[Text], shell: Shell) -> bool:
        """Follow `sed -i`, `rm`, `cp` and `mv` of what the script wrote; return whether it was one of these."""
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        words = [text for text in argv[1:] if not text.raw.startswith(b"-")]
        if name == b"rm":
            for gone in words:
                self.scene.remove(gone, shell.cwd)
            return True
        if name in (b"cp", b"mv") and len(words) > 1:
            for source in words[:-1]:
                text = self.scene.content(source, shell.cwd, shell.place.node)
                for target in _copied_to(source, words[-1], len(words) > 2):
                    if text is not None or self.scene.wrote(target, shell.cwd):
                        self.scene.write(target, shell.cwd, text, False)
            return True
        if name == b"sed" and any(text.raw.startswith((b"-i", b"--in-place")) for text in argv[1:]) and words:
            rest = [text for text in argv[:-1] if not text.raw.startswith((b"-i", b"--in-place"))]
            rest = rest if argv[-1] is words[-1] else [text for text in rest if text is not words[-1]]
            before = self.scene.content(words[-1], shell.cwd, shell.place.node)
            text = self.printed(rest, shell, before) if before is not None else None
            self.scene.write(words[-1], shell.cwd, text, False)
            return True
        return False


def _copied_to(source: Text, target: Text, folder: bool) -> List[Text]:
    """Return what a copy may be called: by the target's name, in the folder of that name, or both."""
    name = plain(source.raw.rsplit(b"/", 1)[-1])
    if target.raw in (b".", b"./"):
        return [name]
    inside = join([target, name]) if target.raw[-1:] == b"/" else join([target, plain(b"/"), name])
    return [inside] if folder or target.raw[-1:] == b"/" else [target, inside]


_RUN: Dict[type, Callable[..., Optional[int]]] = {
    Simple: Interpreter.simple,
    Pipeline: Interpreter.pipeline,
    AndOr: Interpreter.and_or,
    Group: Interpreter.group,
    If: Interpreter.if_,
    Loop: Interpreter.loop,
    Case: Interpreter.case,
    Function: Interpreter.function,
    Test: Interpreter.test,
    ArithCommand: Interpreter.arith_command,
    Unread: Interpreter.unread,
}
