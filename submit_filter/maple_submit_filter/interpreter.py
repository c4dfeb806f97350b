"""Plays a script through, as its shell would, as far as values are known; launch lines go to the launchers."""

from __future__ import annotations

import contextlib
import re
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import arithmetic, outputs
from .conditions import negate, test
from .edits import Span
from .expand import arith, derive, fields, matches, split, word, words
from .scene import MOST_COMMANDS, Scene, Trail
from .shell import (
    AndOr,
    ArithCommand,
    Assignment,
    Case,
    Command,
    CommandSub,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Param,
    Pipeline,
    ProcessSub,
    Program,
    Redirect,
    Simple,
    Test,
    Unread,
    Word,
    parse,
)  # fmt: skip
from .shell_state import Shell, Variable, open_value
from .text import EMPTY, NUL, Text, join, number, plain

Execute = Callable[[List[Text], Shell, Trail, Optional[Text]], None]
DEEPEST = 24
MOST_ROUNDS = 8
_SOFT_FILES = re.compile(
    rb"(^|/)(activate|conda\.sh|mamba\.sh|micromamba\.sh|\.?bashrc|\.?bash_profile|\.?profile|profile|setvars\.sh|"
    rb"vars\.sh|lmod\.sh|modules\.sh|bash|init\.sh|setup-env\.sh)$"
)
_ENVIRONMENT_COMMANDS = frozenset(b"module ml conda mamba micromamba spack pyenv workon deactivate modtree".split())
_QUESTIONS = frozenset(b"[ [[ test command type which grep egrep pgrep hash".split())
_ASSIGNMENT = re.compile(rb"([A-Za-z_]\w*)(\+?)=")
_COUNTED = re.compile(
    rb"\s*([A-Za-z_]\w*)\s*=([^;]*);\s*([A-Za-z_]\w*)\s*(<=?)([^;]*);\s*(?:\+\+([A-Za-z_]\w*)|([A-Za-z_]\w*)\+\+)\s*"
)


class Leave(Exception):
    """`exit`, `exec` or `return`: the rest is not run."""

    def __init__(self, function: bool = False) -> None:
        self.function = function


class Interpreter:
    """Runs programs against a scene. *execute* starts what is no shell matter."""

    def __init__(self, scene: Scene, execute: Execute) -> None:
        self.scene = scene
        self.execute = execute

    # --- programs ---------------------------------------------------------------------------------------------

    def text(self, source: Text, shell: Shell, trail: Trail) -> None:
        """Run a script text in *shell*, which is changed."""
        if shell.depth > DEEPEST or not source.raw:
            return
        before, shell.base = shell.base, source
        shell.depth += 1
        try:
            self.program(parse(source.raw), shell, trail)
        finally:
            shell.base = before
            shell.depth -= 1

    def script(self, source: Text, shell: Shell, trail: Trail) -> None:
        """Run a whole script, up to its end or its `exit`."""
        try:
            self.text(source, shell, trail)
        except Leave:
            return

    def program(self, program: Program, shell: Shell, trail: Trail) -> Optional[int]:
        """Run a list of commands; return the last status: 0, 1 for failure, None unknown."""
        status: Optional[int] = 0
        for item in program.items:
            if item.background:
                self._aside(item.command, shell.fork(), trail._replace(background=True))
                status = 0
            else:
                status = self.command(item.command, shell, trail)
        return status

    def _aside(self, command: Command, shell: Shell, trail: Trail) -> Optional[int]:
        """Run in a subshell: what it changes, and its exit, stay there."""
        try:
            return self.command(command, shell, trail)
        except Leave:
            return None

    def command(self, command: Command, shell: Shell, trail: Trail) -> Optional[int]:
        """Run one command of any kind."""
        self.scene.commands += 1
        if self.scene.commands > MOST_COMMANDS:
            self.scene.note(self._offset(shell, command.span.start), "the script runs too long to be played through")
            raise Leave
        trail = trail._replace(phase=self.scene.phase)
        return _RUN[type(command)](self, command, shell, trail)

    def _offset(self, shell: Shell, position: int) -> int:
        span = shell.base.span(position, position)
        return span.start if span else -1

    def substitute(self, part: Union[CommandSub, ProcessSub], shell: Shell) -> Text:
        """Return what a substitution stands for."""
        if part.body is None or isinstance(part, ProcessSub):
            return self._unknown(part.span.start, shell, not isinstance(part, ProcessSub))
        text = self.output(part.body, shell.fork())
        if text is not None:
            return outputs.trimmed(text)
        return self._unknown(part.span.start, shell, not _single(part.body))

    def _unknown(self, position: int, shell: Shell, opened: bool) -> Text:
        text = shell.mix(b"sub%d.%d" % (position, len(shell.base.pieces) and max(shell.base.pieces[0].start, 0)))
        return Text(text.pieces, opened)

    # --- what a command prints ----------------------------------------------------------------------------------

    def output(self, program: Program, shell: Shell, given: Optional[Text] = None) -> Optional[Text]:
        """Return what a program prints, or None when that is not known."""
        out: List[Text] = []
        for item in program.items:
            text = self._printed(item.command, shell, given)
            if text is None:
                return None
            out.append(text)
        return join(out)

    def _printed(self, command: Command, shell: Shell, given: Optional[Text]) -> Optional[Text]:
        self.scene.commands += 1
        if self.scene.commands > MOST_COMMANDS:
            return None
        if isinstance(command, Pipeline):
            text: Optional[Text] = given
            for index, part in enumerate(command.commands):
                text = self._printed(part, shell, text if index or given is not None else None)
                if text is None:
                    return None
            return text
        if isinstance(command, AndOr):
            return self._printed(command.commands[0], shell, given) if command.operators[0] == b"||" else None
        if isinstance(command, Group):
            return self.output(command.body, shell.fork(), given)
        if isinstance(command, Loop):
            return self._loop_output(command, shell)
        return self._simple_output(command, shell, given) if isinstance(command, Simple) else None

    def _loop_output(self, loop: Loop, shell: Shell) -> Optional[Text]:
        items = self._rounds(loop, shell)
        if items is None or len(items) > 512:
            return None
        out = []
        for item in items:
            shell.set(loop.variable, item)
            text = self.output(loop.body, shell)
            if text is None:
                return None
            out.append(text)
        return join(out)

    def _simple_output(self, simple: Simple, shell: Shell, given: Optional[Text]) -> Optional[Text]:
        argv = words(shell, simple.words, self.substitute)
        for assignment in simple.assignments:
            self._assign(assignment, shell)
        if not argv:
            return EMPTY
        if any(
            redirect.op not in (b"<", b"<<<", b"<<", b"<<-") and redirect.fd != b"2" for redirect in simple.redirects
        ):
            return None
        for redirect in simple.redirects:
            if redirect.fd in (None, b"", b"0"):
                given = self.given(redirect, shell) or given
        return self.printed(argv, shell, given)

    def printed(self, argv: List[Text], shell: Shell, given: Optional[Text]) -> Optional[Text]:
        """Return what a command of these words prints, or None."""
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        if name == b"srun":
            return self._printed_by_srun(argv, shell)
        if name == b"cat" and len(argv) == 2:
            return self.scene.content(argv[1], shell.cwd)
        if name in (b"wc", b"head", b"tail", b"sed", b"awk", b"sort") and given is None and len(argv) > 1:
            given = self.scene.content(argv[-1], shell.cwd) if not argv[-1].raw.startswith(b"-") else None
            argv = argv[:-1] if given is not None else argv
        return outputs.run(argv, given, shell, outputs.Machine(self.scene.allocation.nodes))

    def _printed_by_srun(self, argv: List[Text], shell: Shell) -> Optional[Text]:
        """`srun --nodes=1 --ntasks=1 -w "$head_node" hostname -i` and its kin: one task on one node."""
        from .launchers.srun import single

        found = single(argv, shell, self.scene)
        if found is None:
            return None
        place, rest = found
        return self.printed(rest, shell.spawn(place), None)

    # --- simple commands ----------------------------------------------------------------------------------------

    def simple(self, simple: Simple, shell: Shell, trail: Trail) -> Optional[int]:
        argv = words(shell, simple.words, self.substitute)
        if not argv:
            for assignment in simple.assignments:
                self._assign(assignment, shell)
            return 0
        name = argv[0].raw if argv[0].literal else b""
        given = self._stdin(simple.redirects, shell)
        if name in _BUILTINS and not (name == b"exec" and len(argv) > 1):
            for assignment in simple.assignments:
                self._assign(assignment, shell)
            return _BUILTINS[name](self, simple, argv, shell, trail, given)
        if self._written(simple, argv, shell, given):
            return None
        return self._start(simple, argv, shell, trail, given)

    def _start(
        self, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
    ) -> Optional[int]:
        name = argv[0].raw
        if trail.span is None or not trail.links:
            trail = trail._replace(span=shell.base.span(simple.span.start, simple.span.end) or trail.span)
        trail = trail._replace(key=trail.key + (self._key(simple, shell),))
        if name in shell.functions:
            return self._call(argv, shell, trail)
        if name in _ENVIRONMENT_COMMANDS:
            shell.softly = True
            return 0
        child = shell.fork()
        for assignment in simple.assignments:
            self._assign(assignment, child, exported=True)
        child = child.spawn()
        self.execute(argv, child, trail, given)
        if name == b"exec":
            raise Leave
        return None

    def _key(self, simple: Simple, shell: Shell) -> Tuple[int, int]:
        start = shell.base.pieces[0].start if shell.base.pieces else -1
        return (start, simple.span.start)

    def _call(self, argv: List[Text], shell: Shell, trail: Trail) -> Optional[int]:
        if shell.depth > DEEPEST:
            return None
        body, base = shell.functions[argv[0].raw]
        positional, before = shell.positional, shell.base
        shell.positional, shell.base = argv[1:], base
        shell.depth += 1
        try:
            return self.command(body, shell, trail)
        except Leave as leave:
            if not leave.function:
                raise
            return None
        finally:
            shell.positional, shell.base = positional, before
            shell.depth -= 1

    def _written(self, simple: Simple, argv: List[Text], shell: Shell, given: Optional[Text]) -> bool:
        """Remember `cat > file <<EOF`, `echo ... >> file` and the like; return whether that is all there was."""
        target = _file_written(simple.redirects)
        if target is None or target.target is None:
            return False
        path = word(shell, target.target, self.substitute)
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        text = given if name == b"cat" and len(argv) == 1 else self.printed(argv, shell, given)
        if target.fd in (None, b"", b"1"):
            self.scene.write(path, shell.cwd, text, b">>" in target.op)
        return text is not None

    def _stdin(self, redirects: Sequence[Redirect], shell: Shell) -> Optional[Text]:
        given = None
        for redirect in redirects:
            if redirect.fd in (None, b"", b"0") and redirect.op in (b"<", b"<<", b"<<-", b"<<<"):
                given = self.given(redirect, shell)
        return given

    def given(self, redirect: Redirect, shell: Shell) -> Optional[Text]:
        """Return what a redirection puts on standard input."""
        if redirect.heredoc is not None:
            return word(shell, redirect.heredoc.body, self.substitute)
        if redirect.target is None:
            return None
        if redirect.op == b"<<<":
            return join([word(shell, redirect.target, self.substitute), plain(b"\n")])
        parts = redirect.target.parts
        if redirect.op == b"<" and len(parts) == 1 and isinstance(parts[0], ProcessSub) and parts[0].body:
            return self.output(parts[0].body, shell.fork())
        if redirect.op == b"<":
            return self.scene.content(word(shell, redirect.target, self.substitute), shell.cwd)
        return None

    def _assign(self, assignment: Assignment, shell: Shell, exported: bool = False) -> None:
        name = assignment.name
        self._remember(name, assignment.span, shell)
        if assignment.array is not None:
            texts = tuple(words(shell, assignment.array, self.substitute))
            before = shell.get(name).texts() if assignment.append else ()
            shell.variables[name] = Variable(None, before + texts)
            return
        value = word(shell, assignment.value, self.substitute) if assignment.value else EMPTY
        if assignment.subscript is not None:
            self._assign_element(assignment, value, shell)
            return
        if assignment.append:
            value = join([shell.value(name) or EMPTY, value])
        shell.set(name, Text(value.pieces, value.open), exported)

    def _remember(self, name: bytes, span: Span, shell: Shell) -> None:
        """Note where a name is assigned, so that an edit can find the place."""
        start = shell.base.span(span.start, span.start)
        if start is not None:
            spans = self.scene.assigned.setdefault(name, [])
            here = Span(start.start, start.start + span.end - span.start)
            if here not in spans:
                spans.append(here)

    def _assign_element(self, assignment: Assignment, value: Text, shell: Shell) -> None:
        texts = list(shell.get(assignment.name).texts())
        index = arith(shell, word(shell, assignment.subscript, self.substitute)) if assignment.subscript else EMPTY
        position = number(index)
        if position is None or position > len(texts) or any(text.open for text in texts):
            shell.variables[assignment.name] = Variable(None, (open_value(b"array"),))
            return
        texts[position : position + 1] = [value]
        shell.variables[assignment.name] = Variable(None, tuple(texts))

    # --- compound commands --------------------------------------------------------------------------------------

    def pipeline(self, pipeline: Pipeline, shell: Shell, trail: Trail) -> Optional[int]:
        if len(pipeline.commands) == 1:
            status = self.command(pipeline.commands[0], shell, trail)
            return negate(status) if pipeline.negated else status
        if self._piped_to_file(pipeline, shell):
            return None
        for index, command in enumerate(pipeline.commands):
            if index and isinstance(command, Simple) and self._reads_names(command, shell):
                continue
            self._aside(command, shell.fork(), trail)
        return None

    def _reads_names(self, simple: Simple, shell: Shell) -> bool:
        return (
            bool(simple.words) and simple.words[0].parts[:1] != () and _first(simple.words[0]) in (b"read", b"mapfile")
        )

    def _piped_to_file(self, pipeline: Pipeline, shell: Shell) -> bool:
        """Remember `scontrol ... | sed ... > hostfile`; return whether it was one."""
        last = pipeline.commands[-1]
        target = _file_written(last.redirects) if isinstance(last, Simple) else None
        name = b""
        if target is None and isinstance(last, Simple) and len(last.words) == 2 and _first(last.words[0]) == b"tee":
            name = _first(last.words[1])
        if (target is None or target.target is None) and not name:
            return False
        bare = (
            last._replace(redirects=(), words=last.words if not name else last.words[:1])
            if isinstance(last, Simple)
            else last
        )
        text = self._printed(pipeline._replace(commands=pipeline.commands[:-1] + (bare,)), shell.fork(), None)
        if target is not None and target.target is not None:
            path = word(shell, target.target, self.substitute)
            self.scene.write(path, shell.cwd, text, b">>" in target.op)
        elif text is not None:
            self.scene.write(plain(name), shell.cwd, text, False)
        return text is not None

    def and_or(self, chain: AndOr, shell: Shell, trail: Trail) -> Optional[int]:
        status = self.command(chain.commands[0], shell, trail)
        question = _asks(chain.commands[0])
        for operator, command in zip(chain.operators, chain.commands[1:]):
            wanted = operator == b"&&"
            if status is not None and (status == 0) != wanted:
                continue
            if status is None and (question or not wanted):
                self._perhaps([command], shell, trail)
            else:
                status = self.command(command, shell, trail)
                question = _asks(command)
        return status

    def _perhaps(
        self, commands: Sequence[Union[Command, Program]], shell: Shell, trail: Trail, always: bool = False
    ) -> None:
        """Run each of the alternatives in a copy; what they do not agree on is unknown afterwards.

        *always*: one of them surely runs; otherwise it may also be that none does.
        """
        ends = [] if always else [shell.fork()]
        for command in commands:
            copy = shell.fork()
            try:
                inner = trail._replace(maybe=True)
                if isinstance(command, Program):
                    self.program(command, copy, inner)
                else:
                    self.command(command, copy, inner)
            except Leave:
                continue
            ends.append(copy)
        if ends:
            _merge(shell, ends)

    def if_(self, one: If, shell: Shell, trail: Trail) -> Optional[int]:
        open_branches: List[Union[Command, Program]] = []
        for condition, body in one.branches:
            status = self.program(condition, shell, trail)
            if status is None:
                open_branches.append(body)
            elif status == 0:
                return self._decided(open_branches, body, shell, trail)
        if one.otherwise is not None:
            return self._decided(open_branches, one.otherwise, shell, trail)
        if open_branches:
            self._perhaps(open_branches, shell, trail)
            return None
        return 0

    def _decided(
        self, before: List[Union[Command, Program]], body: Program, shell: Shell, trail: Trail
    ) -> Optional[int]:
        if not before:
            return self.program(body, shell, trail)
        self._perhaps([*before, body], shell, trail, always=True)
        return None

    def _rounds(self, loop: Loop, shell: Shell) -> Optional[List[Text]]:
        """Return the values a `for` goes through, or None when they are not known."""
        if loop.kind == b"for":
            texts = words(shell, loop.words, self.substitute) if loop.words is not None else list(shell.positional)
            return None if any(text.open for text in texts) else texts
        if loop.kind != b"cfor":
            return None
        found = _COUNTED.fullmatch(loop.header)
        if not found:
            return None
        low = _plain_number(shell, found.group(2))
        high = _plain_number(shell, found.group(5))
        if low is None or high is None:
            return None
        shell.set(found.group(1), plain(b"%d" % low))
        return [plain(b"%d" % value) for value in range(low, min(high + (found.group(4) == b"<="), low + 1024))]

    def loop(self, loop: Loop, shell: Shell, trail: Trail) -> Optional[int]:
        if loop.kind in (b"while", b"until", b"select"):
            return self._while(loop, shell, trail)
        values = self._rounds(loop, shell)
        variable = loop.variable
        if loop.kind == b"cfor":
            variable = (_COUNTED.fullmatch(loop.header) or [b"", b"i"])[1]
        if values is None:
            shell.set(variable, shell.mix(b"loop" + variable))
            self._once(loop, shell, trail._replace(maybe=trail.maybe or loop.kind == b"for" and _only_open(loop)))
            return None
        for index, value in enumerate(values[:MOST_ROUNDS]):
            shell.set(variable, value)
            self._round(loop, shell, trail._replace(key=trail.key + (b"round", index)))
        if len(values) > MOST_ROUNDS:
            _forget(loop.body, shell)
        return None

    def _round(self, loop: Loop, shell: Shell, trail: Trail) -> None:
        text = None
        target = _file_written(loop.redirects)
        if target is not None and target.target is not None:
            path = word(shell, target.target, self.substitute)
            text = self.output(loop.body, shell.fork())
            self.scene.write(path, shell.cwd, text, True)
        if text is None:
            self.program(loop.body, shell, trail)

    def _once(self, loop: Loop, shell: Shell, trail: Trail) -> None:
        _forget(loop.body, shell)
        with contextlib.suppress(Leave):
            self.program(loop.body, shell, trail)
        _forget(loop.body, shell)

    def _while(self, loop: Loop, shell: Shell, trail: Trail) -> Optional[int]:
        for redirect in loop.redirects:
            self.given(redirect, shell)
        status = self.program(loop.condition, shell, trail) if loop.condition else None
        status = negate(status) if loop.kind == b"until" else status
        if status != 1:
            _forget(loop.body, shell)
            asked = loop.condition is not None and any(_asks(item.command) for item in loop.condition.items)
            self._once(loop, shell, trail._replace(maybe=trail.maybe or (status is None and asked)))
        return None

    def case(self, case: Case, shell: Shell, trail: Trail) -> Optional[int]:
        subject = word(shell, case.word, self.substitute)
        open_arms: List[Union[Command, Program]] = []
        for patterns, body, _ in case.arms:
            answers = [self._fits(subject, word(shell, one, self.substitute)) for one in patterns]
            if True in answers:
                return self._decided(open_arms, body, shell, trail)
            if None in answers:
                open_arms.append(body)
        if open_arms:
            self._perhaps(open_arms, shell, trail)
        return None

    def _fits(self, subject: Text, pattern: Text) -> Optional[bool]:
        if pattern.raw == b"*":
            return True
        if not (subject.literal and pattern.literal):
            return None
        return matches(subject.raw, pattern.raw)

    def group(self, group: Group, shell: Shell, trail: Trail) -> Optional[int]:
        target = _file_written(group.redirects)
        if target is not None and target.target is not None:
            text = self.output(group.body, shell.fork())
            self.scene.write(word(shell, target.target, self.substitute), shell.cwd, text, b">>" in target.op)
            if text is not None:
                return 0
        if group.kind == b"(":
            return self._aside(group._replace(kind=b"{", redirects=()), shell.fork(), trail)
        return self.program(group.body, shell, trail)

    def function(self, function: Function, shell: Shell, trail: Trail) -> Optional[int]:
        shell.functions[function.name] = (function.body, shell.base)
        return 0

    def test(self, one: Test, shell: Shell, trail: Trail) -> Optional[int]:
        return test([word(shell, each, self.substitute) for each in one.words], double=True)

    def arith_command(self, one: ArithCommand, shell: Shell, trail: Trail) -> Optional[int]:
        expression = word(shell, one.text, self.substitute)
        changed = re.findall(rb"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)", expression.raw)
        for name in changed:
            shell.set(name, shell.mix(b"arith." + name))
        if changed:
            return None
        result = number(arith(shell, expression))
        return None if result is None else int(result == 0)

    def unread(self, one: Unread, shell: Shell, trail: Trail) -> Optional[int]:
        self.scene.note(self._offset(shell, one.span.start), one.why)
        shell.lose(b"unread%d" % one.span.start)
        return None


# --- builtins ---------------------------------------------------------------------------------------------------

Builtin = Callable[[Interpreter, Simple, List[Text], Shell, Trail, Optional[Text]], Optional[int]]


def _declare(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    """export, declare, typeset, local, readonly: words are assignments and are not split."""
    command = argv[0].raw
    flags = b"".join(text.raw for text in argv[1:] if text.raw[:1] == b"-")
    exported = (command == b"export" and b"n" not in flags) or b"x" in flags
    for one in simple.words[1:]:
        text = word(shell, one, run.substitute)
        raw = text.raw
        found = _ASSIGNMENT.match(raw)
        if found:
            value = text.slice(found.end())
            if found.group(2):
                value = join([shell.value(found.group(1)) or EMPTY, value])
            run._remember(found.group(1), one.span, shell)
            shell.set(found.group(1), Text(value.pieces, False), exported)
        elif raw[:1] != b"-" and exported:
            shell.export(raw)
        elif raw[:1] != b"-" and text.open:
            shell.lose(b"declare")
    return 0


def _unset(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for text in argv[1:]:
        if text.raw[:1] != b"-":
            for name in [n for n in shell.variables if matches(n, text.raw)] or [text.raw]:
                shell.unset(name)
            shell.functions.pop(text.raw, None)
    return 0


def _set(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for index, text in enumerate(argv[1:], 1):
        raw = text.raw
        if raw == b"--":
            shell.positional = argv[index + 1 :]
            return 0
        letters = {b"%c" % letter for letter in raw[1:]} if raw[:1] in (b"-", b"+") else set()
        if raw == b"-o" or raw == b"+o":
            shell.options |= {b"a"} if raw == b"-o" and argv[index + 1 : index + 2] == [plain(b"allexport")] else set()
            return 0
        shell.options = shell.options | letters if raw[:1] == b"-" else shell.options - letters
    return 0


def _source(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if len(argv) < 2:
        return None
    path = argv[1]
    if _SOFT_FILES.search(path.raw):
        shell.softly = True
        return 0
    content = run.scene.content(path, shell.cwd)
    if content is None and path.raw[:1] == b"<" or content is None:
        run.scene.note(run._offset(shell, simple.span.start), "a sourced file could not be read: " + _named(path))
        shell.lose(b"source%d" % simple.span.start)
        return None
    positional, shell.positional = shell.positional, argv[2:] or shell.positional
    run.text(content, shell, trail)
    shell.positional = positional
    return 0


def _named(path: Text) -> str:
    from .text import show

    return show(path.raw)


def _eval(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    from .shell_state import joined

    text = joined(tuple(argv[1:]))
    if text.open or any(part.open for part in argv):
        if b"conda" in simple_bytes(simple, shell) or b"micromamba" in simple_bytes(simple, shell):
            shell.softly = True
            return 0
        shell.lose(b"eval%d" % simple.span.start)
        return None
    if not text.known and (b"conda" in simple_bytes(simple, shell) or b"hook" in simple_bytes(simple, shell)):
        shell.softly = True
        return 0
    run.text(text, shell, trail._replace(key=trail.key + (run._key(simple, shell),)))
    return None


def simple_bytes(simple: Simple, shell: Shell) -> bytes:
    """Return the bytes a command is written with."""
    return shell.base.slice(simple.span.start, simple.span.end).raw


def _exit(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    raise Leave


def _return(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    raise Leave(function=True)


def _cd(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if len(argv) == 2 and argv[1].raw[:1] == b"/":
        shell.cwd = argv[1]
    elif len(argv) == 2 and argv[1].raw == b"\0submitdir\0":
        pass
    elif len(argv) == 2 and shell.cwd is not None:
        shell.cwd = join([shell.cwd, plain(b"/"), argv[1]])
    else:
        shell.cwd = derive(b"cd", argv)
    return None


def _read(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    names = [text.raw for text in argv[1:] if text.raw[:1] != b"-"]
    array = any(text.raw[:1] == b"-" and b"a" in text.raw for text in argv[1:])
    by = next((one for one in simple.assignments if one.name == b"IFS"), None)
    delimiter = word(shell, by.value, run.substitute).raw if by and by.value else b""
    shell.variables.pop(b"IFS", None)
    parts: Optional[List[Text]] = None
    if given is not None and not given.open and given.known:
        line = (outputs.lines(given) or [EMPTY])[0]
        if not delimiter or delimiter.isspace():
            parts = split(line)
        elif line.literal:
            parts = [plain(part) for part in line.raw.split(delimiter)]
    for index, name in enumerate(names):
        if parts is None:
            value = Text(shell.mix(b"read." + name).pieces, True)
            shell.variables[name] = Variable(None, (value,)) if array else Variable(value)
        elif array:
            shell.variables[name] = Variable(None, tuple(parts))
        else:
            rest = parts[index:] if index == len(names) - 1 else parts[index : index + 1]
            from .shell_state import joined

            shell.set(name, joined(tuple(rest)))
    return None


def _mapfile(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    name = argv[-1].raw if len(argv) > 1 and argv[-1].raw[:1] != b"-" else b"MAPFILE"
    if given is None:
        shell.variables[name] = Variable(None, (open_value(b"mapfile." + name),))
    else:
        shell.variables[name] = Variable(None, tuple(outputs.lines(given)))
    return 0


def _printf(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if len(argv) > 3 and argv[1].raw == b"-v":
        printed = outputs.run([argv[0], *argv[3:]], None, shell, outputs.Machine(run.scene.allocation.nodes))
        shell.set(argv[2].raw, printed if printed is not None else shell.mix(b"printf"))
        return 0
    run._written(simple, argv, shell, given)
    return 0


def _echo(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    run._written(simple, argv, shell, given)
    return 0


def _test(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    inner = argv[1:-1] if argv[0].raw == b"[" else argv[1:]
    if any(text.open for text in inner):
        return None
    return test(inner)


def _let(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for text in argv[1:]:
        name, equals, rest = text.raw.partition(b"=")
        value = arithmetic.evaluate(rest, lambda one: number(shell.value(one))) if equals and NUL not in rest else None
        target = re.match(rb"[A-Za-z_]\w*", name)
        if target:
            known = value is not None and target.end() == len(name)
            shell.set(target.group(), plain(b"%d" % value) if known and value is not None else shell.mix(b"let"))
    return None


def _shift(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    count = number(argv[1]) if len(argv) > 1 else 1
    shell.positional = shell.positional[count or 0 :]
    return 0


def _wait(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    run.scene.phase += 1
    return 0


def _true(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return 0


def _false(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return 1


def _nothing(
    run: Interpreter, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return None


_BUILTINS: Dict[bytes, Builtin] = {
    b"export": _declare, b"declare": _declare, b"typeset": _declare, b"local": _declare, b"readonly": _declare,
    b"unset": _unset, b"set": _set, b"source": _source, b".": _source, b"eval": _eval, b"exit": _exit, b"return": _return,
    b"cd": _cd, b"pushd": _cd, b"popd": _nothing, b"read": _read, b"mapfile": _mapfile, b"readarray": _mapfile,
    b"printf": _printf, b"echo": _echo, b"[": _test, b"test": _test, b"let": _let, b"shift": _shift, b"wait": _wait,
    b"true": _true, b":": _true, b"false": _false, b"trap": _true, b"ulimit": _true, b"umask": _true, b"shopt": _true,
    b"hash": _nothing, b"type": _nothing, b"alias": _nothing, b"unalias": _nothing, b"jobs": _true, b"disown": _true,
    b"break": _nothing, b"continue": _nothing, b"exec": _true, b"logout": _exit, b"sleep": _true, b"dirs": _true,
    b"getopts": _nothing, b"bind": _true, b"enable": _true, b"history": _true, b"times": _true, b"kill": _nothing,
}  # fmt: skip

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


# --- small questions about commands -----------------------------------------------------------------------------


def _first(one: Word) -> bytes:
    """Return a word's bytes where it is one literal, else b""."""
    return one.parts[0].text if len(one.parts) == 1 and isinstance(one.parts[0], Literal) else b""


def _asks(command: Command) -> bool:
    """Return whether a command is asked for its answer, so that failing is no failure."""
    if isinstance(command, Pipeline):
        return _asks(command.commands[-1])
    if isinstance(command, Simple):
        return bool(command.words) and _first(command.words[0]) in _QUESTIONS
    return isinstance(command, (Test, ArithCommand))


def _file_written(redirects: Sequence[Redirect]) -> Optional[Redirect]:
    for redirect in redirects:
        if redirect.op in (b">", b">>", b">|", b"&>", b"&>>") and redirect.fd in (None, b"", b"1"):
            return redirect
    return None


def _single(body: Program) -> bool:
    """Return whether an unknown output is one word in all sane uses."""
    if not body.items:
        return True
    command = body.items[-1].command
    while isinstance(command, (Pipeline, AndOr, Group)):
        command = command.body.items[-1].command if isinstance(command, Group) else command.commands[-1]
    if not isinstance(command, Simple) or not command.words:
        return False
    return _first(command.words[0]).rsplit(b"/", 1)[-1] in outputs.SINGLE


def _only_open(loop: Loop) -> bool:
    return not any(isinstance(part, Literal) for one in loop.words or () for part in one.parts)


def _plain_number(shell: Shell, expression: bytes) -> Optional[int]:
    names = re.sub(rb"\$\{?#?([A-Za-z_]\w*)(?:\[@\])?\}?", rb"\1", expression)
    if b"#" in expression:
        found = re.fullmatch(rb"\s*\$\{#([A-Za-z_]\w*)\[[@*]\]\}\s*", expression)
        texts = shell.get(found.group(1)).texts() if found else ()
        return None if not found or any(text.open for text in texts) else len(texts)
    return arithmetic.evaluate(names, lambda name: number(shell.value(name)))


def _assigned(body: Program) -> List[bytes]:
    """Return the names that a loop's body may change."""
    out: List[bytes] = []
    stack: List[object] = [body]
    while stack:
        one = stack.pop()
        if isinstance(one, Assignment):
            out.append(one.name)
        if isinstance(one, Loop) and one.variable:
            out.append(one.variable)
        if isinstance(one, tuple):
            stack.extend(part for part in one if isinstance(part, tuple) and not isinstance(part, (Literal, Param)))
    return out


def _forget(body: Program, shell: Shell) -> None:
    for name in _assigned(body):
        before = shell.variables.get(name)
        shell.variables[name] = Variable(
            Text(shell.mix(b"round." + name).pieces, True), None, bool(before and before.exported)
        )


def _merge(shell: Shell, ends: List[Shell]) -> None:
    """Take over what all ends agree on; the rest is unknown."""
    names = {name for end in ends for name in end.variables}
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
    shell.lost = next((end.lost for end in ends if end.lost), b"")
    shell.functions = {**first.functions, **{k: v for end in ends for k, v in end.functions.items()}}
    if any((end.cwd.raw if end.cwd else None) != (first.cwd.raw if first.cwd else None) for end in ends):
        shell.cwd = derive(b"cwd", ())


def expanded(shell: Shell, one: Word, run: Interpreter) -> List[Text]:
    """Return a word's fields in a shell."""
    return fields(shell, one, run.substitute)
