"""Lists, pipelines, conditions and loops. Where it is not known which way a script goes, it goes both."""

from __future__ import annotations

import re
from typing import Callable, Iterable, List, Optional, Sequence, Set, Union

from ..bash.nodes import (
    AndOr,
    ArithCommand,
    Case,
    Command,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    Program,
    Simple,
    Test,
    Unread,
)
from ..bash.questions import (
    asks,
    assigned,
    file_written,
    first,
    only_looks,
    only_open,
    only_prints,
    reads_apart,
    takes_input,
)
from ..types.text import EMPTY, Text, number
from . import working_folder
from .conditions import fits, negate, test
from .expansion import arith, derive, word
from .scene import Trail
from .shell_state import Layer, Shell, Variable
from .values import COUNTED, Values

MOST_ROUNDS = 8
MOST_LINES = 512  # of a loop that does nothing but print


class Leave(Exception):
    """`exit`, `exec` or `return`: the rest is not run. *loop*: `break` or `continue`, of so many loops (*levels*)."""

    def __init__(self, function: bool = False, loop: bytes = b"", levels: int = 1) -> None:
        self.function = function
        self.loop = loop
        self.levels = levels


class Compound(Values):
    """The part of an interpreter that follows compound commands."""

    command: Callable[[Command, Shell, Trail], Optional[int]]
    program: Callable[[Program, Shell, Trail], Optional[int]]
    loops = 0  # that the command now running stands in

    def aside(self, command: Command, shell: Shell, trail: Trail) -> Optional[int]:
        """Run in a subshell: what it changes, and its exit, stay there."""
        try:
            return self.command(command, shell, trail)
        except Leave:
            return None

    def pipeline(self, pipeline: Pipeline, shell: Shell, trail: Trail) -> Optional[int]:
        if len(pipeline.commands) == 1:
            status = self.command(pipeline.commands[0], shell, trail)
            return negate(status) if pipeline.negated else status
        if not pipeline.commands:  # `! ! `, with nothing behind it
            return None
        if self._piped_to_file(pipeline, shell):
            return None
        for index, command in enumerate(pipeline.commands):
            if index and isinstance(command, Simple) and self._reads_names(command, shell):
                continue
            self.aside(command, shell.fork(), trail)
        return None

    def _reads_names(self, simple: Simple, shell: Shell) -> bool:
        return (
            bool(simple.words) and simple.words[0].parts[:1] != () and first(simple.words[0]) in (b"read", b"mapfile")
        )

    def _piped_to_file(self, pipeline: Pipeline, shell: Shell) -> bool:
        """Remember `scontrol ... | sed ... > hostfile`; return whether it was one."""
        last = pipeline.commands[-1]
        target = file_written(last.redirects) if isinstance(last, (Simple, Loop)) else None
        tee = isinstance(last, Simple) and bool(last.words) and first(last.words[0]) == b"tee"
        if (target is None or target.target is None) and not tee:
            return False
        bare = (
            last._replace(redirects=(), words=last.words if not tee else last.words[:1])
            if isinstance(last, Simple)
            else last._replace(redirects=())
            if isinstance(last, Loop)
            else last
        )
        text = self.print_of(pipeline._replace(commands=pipeline.commands[:-1] + (bare,)), shell.fork(), None)
        if target is not None and target.target is not None:
            path = word(shell, target.target, self.substitute)
            self.scene.write(path, shell.cwd, text, b">>" in target.op)
        if tee and text is not None and isinstance(last, Simple):
            self.copied_out([word(shell, each, self.substitute) for each in last.words], shell, text)
        return text is not None

    def copied_out(self, argv: Sequence[Text], shell: Shell, text: Optional[Text]) -> None:
        """Remember what `tee` writes; None: nobody knows."""
        more = any(each.raw in (b"-a", b"--append") for each in argv[1:])
        for each in argv[1:]:
            if not each.raw.startswith(b"-"):
                self.scene.write(each, shell.cwd, text, more)

    def and_or(self, chain: AndOr, shell: Shell, trail: Trail) -> Optional[int]:
        status = self.command(chain.commands[0], shell, trail)
        question = asks(chain.commands[0])
        for operator, command in zip(chain.operators, chain.commands[1:]):
            wanted = operator == b"&&"
            if status is not None and (status == 0) != wanted:
                continue
            if status is None and (question or not wanted):
                self._perhaps([command], shell, trail, guards=chain.commands[:1])
            else:
                status = self.command(command, shell, trail)
                question = asks(command)
        return status

    def _perhaps(
        self, commands: Sequence[Union[Command, Program]], shell: Shell, trail: Trail, always: bool = False,
        guards: Sequence[Union[Command, Program]] = (),
    ) -> None:  # fmt: skip
        """Run each of the alternatives in a copy; what they do not agree on is unknown afterwards.

        *always*: one of them surely runs; otherwise it may also be that none does. *guards*: what is asked before.
        Where these only look, it is presumed that each alternative is meant to run in this job.
        """
        meant = self.scene.presumes and not trail.maybe and bool(guards) and all(map(only_looks, guards))
        ends, before = [] if always else [shell.fork()], self.scene.files
        files = [] if always else [before]
        for command in commands:
            copy, self.scene.files = shell.fork(), dict(before)
            try:
                inner = trail._replace(maybe=not meant)
                if isinstance(command, Program):
                    self.program(command, copy, inner)
                else:
                    self.command(command, copy, inner)
            except Leave as leave:
                shell.skips = leave.loop or shell.skips
                continue
            finally:
                files.append(self.scene.files)
            ends.append(copy)
        self.scene.agree(before, files)
        if ends:
            merge(shell, ends)

    def if_(self, branch: If, shell: Shell, trail: Trail) -> Optional[int]:
        open_branches: List[Union[Command, Program]] = []
        asked: List[Union[Command, Program]] = []
        for condition, body in branch.branches:
            asked.append(condition)
            status = self.program(condition, shell, trail)
            if status is None:
                open_branches.append(body)
            elif status == 0:
                return self._decided(open_branches, body, shell, trail, asked)
        if branch.otherwise is not None:
            return self._decided(open_branches, branch.otherwise, shell, trail, asked)
        if open_branches:
            self._perhaps(open_branches, shell, trail, guards=asked)
            return None
        return 0

    def _decided(
        self, before: List[Union[Command, Program]], body: Program, shell: Shell, trail: Trail,
        guards: Sequence[Union[Command, Program]] = (),
    ) -> Optional[int]:  # fmt: skip
        if not before:
            return self.program(body, shell, trail)
        self._perhaps([*before, body], shell, trail, True, guards)
        return None

    def loop(self, loop: Loop, shell: Shell, trail: Trail) -> Optional[int]:
        skips, self.loops = shell.skips, self.loops + 1
        try:
            return self._loop(loop, shell, trail)
        finally:
            shell.skips, self.loops = skips, self.loops - 1

    def _loop(self, loop: Loop, shell: Shell, trail: Trail) -> Optional[int]:
        if loop.kind in (b"while", b"until", b"select"):
            self.scene.beside.clear()  # it may go round for as long as something runs
            return self._while(loop, shell, trail)
        values = self.rounds(loop, shell)
        variable = loop.variable
        if loop.kind == b"cfor":
            variable = (COUNTED.fullmatch(loop.header) or [b"", b"i"])[1]
        if values is None:
            shell.set(variable, shell.mix(b"loop" + variable))
            self._once(loop, shell, trail._replace(maybe=trail.maybe or loop.kind == b"for" and only_open(loop)))
            return None
        before, here, files = len(self.scene.starts), working_folder.here(shell), dict(self.scene.files)
        most = MOST_LINES if only_prints(loop.body) else MOST_ROUNDS
        self._begin_file(loop, shell)
        for index, value in enumerate(values[:most]):
            shell.set(variable, value)
            if not self._round(loop, shell, trail._replace(key=trail.key + (b"round", index))):
                return None
        if len(values) > most:
            self.scene.left_open(files, False)
            forget(loop.body, shell)
            working_folder.perhaps_from(shell, here)
            self._more_rounds(before)
        return None

    def _begin_file(self, loop: Loop, shell: Shell, text: Optional[Text] = EMPTY) -> None:
        """Empty the file that the loop's output goes to (`done > FILE`)."""
        target = file_written(loop.redirects)
        if target is not None and target.target is not None and (b">>" not in target.op or text is None):
            path = word(shell, target.target, self.substitute)
            self.scene.write(path, shell.cwd, text, b">>" in target.op)

    def _more_rounds(self, before: int) -> None:
        """Lines sent to the background in rounds that were not played may belong to any world."""
        if any(start.trail.background for start in self.scene.starts[before:]):
            self.scene.hidden = True

    def _round(self, loop: Loop, shell: Shell, trail: Trail) -> bool:
        """Play one round; return whether the loop goes on.

        Where the round may have been left early, nothing that it may have set is known afterwards.
        """
        goes_on, folder, files = True, working_folder.here(shell), dict(self.scene.files)
        try:
            self._body(loop, shell, trail)
        except Leave as leave:
            if not leave.loop:
                raise
            if leave.levels > 1:
                raise Leave(loop=leave.loop, levels=leave.levels - 1) from None
            goes_on = leave.loop == b"continue"
        if shell.skips:
            self.scene.left_open(files, True)
            forget(loop.body, shell)
            working_folder.perhaps_from(shell, folder)
        shell.skips = b"" if shell.skips == b"continue" else shell.skips
        return goes_on

    def _body(self, loop: Loop, shell: Shell, trail: Trail) -> None:
        text = None
        target = file_written(loop.redirects)
        if target is not None and target.target is not None:
            path = word(shell, target.target, self.substitute)
            text = self.output(loop.body, shell.fork())
            self.scene.write(path, shell.cwd, text, True)
        if text is None:
            self.program(loop.body, shell, trail)

    def _once(self, loop: Loop, shell: Shell, trail: Trail) -> None:
        before, folder, files = len(self.scene.starts), working_folder.here(shell), dict(self.scene.files)
        forget(loop.body, shell)
        try:  # noqa: SIM105 - contextlib takes a thirtieth of what a submission may
            self.program(loop.body, shell, trail)
        except Leave:
            pass
        self.scene.left_open(files, True)
        self._begin_file(loop, shell, None)
        forget(loop.body, shell)
        working_folder.perhaps_from(shell, folder)
        self._more_rounds(before)

    def _lines_written(self, loop: Loop, shell: Shell) -> bool:
        """Follow `while read NAME` that only writes lines to a file; return whether it was one."""
        many = self.read_rounds(loop, shell, None) if loop.kind == b"while" and only_prints(loop.body) else None
        if many is None or len(many) > MOST_LINES:
            return False
        target = file_written(loop.redirects)
        text = self.print_of(loop, shell.fork(), None) if target is not None else None
        if target is not None and target.target is not None:
            path = word(shell, target.target, self.substitute)
            self.scene.write(path, shell.cwd, text, b">>" in target.op)
            return True
        for line in many:
            self.read_names(loop, line, shell)
            self.program(loop.body, shell, Trail())
        return True

    def _lines_read(self, loop: Loop, shell: Shell, trail: Trail) -> bool:
        """Play `while read NAME` over lines that are known; return whether it was one.

        A command in the foreground that reads standard input, as ssh and srun do, takes the other lines for itself.
        """
        keeps = loop.kind == b"while" and (reads_apart(loop) or not takes_input(loop.body))
        many = self.read_rounds(loop, shell, None) if keeps else None
        if many is None or len(many) > MOST_ROUNDS:
            return False
        for index, line in enumerate(many):
            self.read_names(loop, line, shell)
            if not self._round(loop, shell, trail._replace(key=trail.key + (b"round", index))):
                break
        return True

    def _while(self, loop: Loop, shell: Shell, trail: Trail) -> Optional[int]:
        if self._lines_written(loop, shell) or self._lines_read(loop, shell, trail):
            return None
        for redirect in loop.redirects:
            self.given(redirect, shell)
        status = self.program(loop.condition, shell, trail) if loop.condition else None
        status = negate(status) if loop.kind == b"until" else status
        if status != 1:
            forget(loop.body, shell)
            self._once(loop, shell, trail._replace(maybe=trail.maybe or status is None))
        return None

    def case(self, case: Case, shell: Shell, trail: Trail) -> Optional[int]:
        subject = word(shell, case.word, self.substitute)
        open_arms: List[Union[Command, Program]] = []
        for patterns, body, _ in case.arms:
            answers = [fits(subject, word(shell, pattern, self.substitute)) for pattern in patterns]
            if True in answers:
                return self._decided(open_arms, body, shell, trail)
            if None in answers:
                open_arms.append(body)
        if open_arms:
            self._perhaps(open_arms, shell, trail)
        return None

    def group(self, group: Group, shell: Shell, trail: Trail) -> Optional[int]:
        target = file_written(group.redirects)
        if target is not None and target.target is not None:
            text = self.output(group.body, shell.fork())
            self.scene.write(word(shell, target.target, self.substitute), shell.cwd, text, b">>" in target.op)
            if text is not None:
                return 0
        if group.kind == b"(":
            return self.aside(group._replace(kind=b"{", redirects=()), shell.fork(), trail)
        return self.program(group.body, shell, trail)

    def function(self, function: Function, shell: Shell, trail: Trail) -> Optional[int]:
        shell.functions[function.name] = (function.body, shell.base)
        shell.unlike -= {function.name}
        return 0

    def test(self, command: Test, shell: Shell, trail: Trail) -> Optional[int]:
        return test([word(shell, each, self.substitute) for each in command.words], double=True)

    def arith_command(self, command: ArithCommand, shell: Shell, trail: Trail) -> Optional[int]:
        expression = word(shell, command.text, self.substitute)
        changed = re.findall(rb"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)", expression.raw)
        for name in changed:
            shell.set(name, shell.mix(b"arith." + name))
        if changed:
            return None
        result = number(arith(shell, expression))
        return None if result is None else int(result == 0)

    def unread(self, unread: Unread, shell: Shell, trail: Trail) -> Optional[int]:
        self.scene.note(self.offset(shell, unread.span.start), unread.why)
        self.scene.beside.clear()
        shell.lose(b"unread%d" % unread.span.start)
        return None


def forget(body: Program, shell: Shell) -> None:
    for name in assigned(body):
        before = shell.variables.get(name)
        shell.variables[name] = Variable(
            Text(shell.mix(b"round." + name).pieces, True), None, bool(before and before.exported)
        )


def changed(end: Shell, shell: Shell) -> Iterable[bytes]:
    """Return the variables in which a fork of *shell* may differ from it."""
    layer = end.variables
    if isinstance(layer, Layer) and layer.below is shell.variables:
        return layer.changed()
    return {*shell.variables, *layer}


def unlike(shell: Shell, other: Shell) -> Set[bytes]:
    """Return the names by which two shells know unlike functions."""
    return {name for name in {**shell.functions, **other.functions}
            if shell.functions.get(name) is not other.functions.get(name)}  # fmt: skip


def merge(shell: Shell, ends: List[Shell]) -> None:
    """Take over what all ends agree on; the rest is unknown."""
    names = {name for end in ends for name in changed(end, shell)}
    first = ends[0]
    for name in names:
        values = [end.get(name) for end in ends]
        raws = {tuple(text.raw for text in value.texts()) for value in values}
        if len(raws) == 1:
            shell.variables[name] = values[0]._replace(exported=any(value.exported for value in values))
            continue
        mixed = Text(derive(b"if." + name, [text for value in values for text in value.texts()]).pieces, True)
        shell.variables[name] = Variable(mixed, None, any(value.exported for value in values))
    shell.softly = any(end.softly for end in ends)
    for reason in [reason for end in ends for reason in end.unsettled]:
        shell.unsettle(reason)
    shell.skips = next((end.skips for end in ends if end.skips), shell.skips)
    shell.lost = next((end.lost for end in ends if end.lost), b"")
    shell.unlike |= {name for end in ends for name in end.unlike | unlike(end, first)}
    shell.functions = {**first.functions, **{k: v for end in ends for k, v in end.functions.items()}}
    folders = [end.cwd for end in ends]
    agree = len({folder.raw if folder is not None else None for folder in folders}) == 1
    shell.cwd = first.cwd if agree else derive(b"cwd", [folder for folder in folders if folder is not None])
    shell.folders = first.folders if all(end.folders == first.folders for end in ends) else None
