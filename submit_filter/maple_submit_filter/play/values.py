"""What a command prints, and what an assignment gives: the value side of playing a script through."""

from __future__ import annotations

import re
from typing import Iterable, List, Optional, Sequence, Union

from ..bash.nodes import (
    AndOr,
    Assignment,
    Case,
    Command,
    CommandSub,
    Group,
    If,
    Loop,
    Pipeline,
    ProcessSub,
    Program,
    Redirect,
    Simple,
    Word,
)
from ..bash.parser import parse
from ..bash.questions import first, first_words, read_from, single
from ..types.edits import Span
from ..types.launch_plan import Link
from ..types.text import EMPTY, Text, join, number, plain
from . import arithmetic, function_output, outputs
from .expansion import arith, separators, split, word, words
from .image import started
from .scene import BYTES_OF_A_COMMAND, MOST_COMMANDS, WORDS_OF_A_COMMAND, Scene
from .shell_state import MOST_BYTES, Place, Shell, Variable, bounded, joined, open_value

COUNTED = re.compile(
    rb"\s*([A-Za-z_]\w*)\s*=([^;]*);\s*([A-Za-z_]\w*)\s*(<=?)([^;]*);\s*(?:\+\+([A-Za-z_]\w*)|([A-Za-z_]\w*)\+\+)\s*"
)


# Commands that wait for nobody: after any other, what runs in the background may be over.
BRIEF = frozenset(
    b"echo printf date hostname uname cat head wc grep cut tr sort ls du df mkdir touch cp mv rm ln chmod scontrol"
    b" squeue sbatch qsub disown".split()
)


class Values:
    """The part of an interpreter that gives values; it starts nothing."""

    scene: Scene

    def offset(self, shell: Shell, position: int) -> int:
        span = shell.base.span(position, position)
        return span.start if span else -1

    def substitute(self, part: Union[CommandSub, ProcessSub], shell: Shell) -> Text:
        """Return what a substitution stands for."""
        shell.use(shell.base, part.span.start, b"$(", True)
        if part.body is None or isinstance(part, ProcessSub):
            return self._unknown(part.span.start, shell, not isinstance(part, ProcessSub))
        text = self.output(part.body, shell.fork())
        if text is not None:
            return outputs.trimmed(text)
        if not BRIEF.issuperset(first_words(part.body) or [b"?"]):
            self.scene.beside.clear()
        return self._unknown(part.span.start, shell, not single(part.body))

    def words(self, many: Sequence[Word], shell: Shell) -> List[Text]:
        """Return the fields that words become; thousands of them take their time, and count like commands."""
        texts = words(shell, many, self.substitute)
        self.scene.commands += len(texts) // WORDS_OF_A_COMMAND
        return texts

    def _unknown(self, position: int, shell: Shell, opened: bool) -> Text:
        shell.place_named()
        text = shell.mix(b"sub%d.%d" % (position, len(shell.base.pieces) and max(shell.base.pieces[0].start, 0)))
        return Text(text.pieces, opened)

    def output(self, program: Program, shell: Shell, given: Optional[Text] = None) -> Optional[Text]:
        """Return what a program prints, or None when that is not known."""
        return _bounded(self.print_of(item.command, shell, given) for item in program.items)

    def print_of(self, command: Command, shell: Shell, given: Optional[Text]) -> Optional[Text]:
        self.scene.commands += 1
        if self.scene.commands > MOST_COMMANDS:
            return None
        if isinstance(command, Pipeline):
            text: Optional[Text] = given
            for index, part in enumerate(command.commands):
                text = self.print_of(part, shell, text if index or given is not None else None)
                if text is None:
                    return None
            return text
        if isinstance(command, AndOr):
            return self.print_of(command.commands[0], shell, given) if command.operators[0] == b"||" else None
        if isinstance(command, Group):
            return self.output(command.body, shell.fork(), given)
        if isinstance(command, Loop):
            return self._loop_output(command, shell, given)
        if isinstance(command, Case):
            return function_output.of_case(self, command, shell, given)
        if isinstance(command, If):
            return function_output.of_if(self, command, shell, given)
        if not isinstance(command, Simple):
            return None
        printed = self._simple_output(command, shell, given)
        self.scene.commands += len(printed.raw) // BYTES_OF_A_COMMAND if printed is not None else 0
        return printed

    def _loop_output(self, loop: Loop, shell: Shell, given: Optional[Text]) -> Optional[Text]:
        if loop.kind == b"while":
            many = self.read_rounds(loop, shell, given)
            return None if many is None else _bounded(self._read_output(loop, text, shell) for text in many)
        items = self.rounds(loop, shell)
        if items is None or len(items) > 512:
            return None
        return _bounded(self._round_output(loop, item, shell) for item in items)

    def read_rounds(self, loop: Loop, shell: Shell, given: Optional[Text]) -> Optional[List[Text]]:
        """Return the lines that a `while read NAME ...` goes through, or None when it is none or they are not known."""
        items = loop.condition.items if loop.condition is not None else ()
        command = items[0].command if len(items) == 1 else None
        if not isinstance(command, Simple) or not command.words or first(command.words[0]) != b"read":
            return None
        apart = read_from(command)
        if apart:
            given = next(
                (
                    self.given(redirect, shell)
                    for redirect in loop.redirects
                    if (redirect.fd, redirect.op) == (apart, b"<")
                ),
                None,
            )
        else:
            given = self.stdin(loop.redirects, shell) or given
        plain_names = all(first(word) and first(word)[:1] != b"-" or first(word) == b"-r" for word in command.words[1:])
        blank = all(assignment.name == b"IFS" for assignment in command.assignments)
        if given is None or given.open or not plain_names or not blank or separators(shell) is not None:
            return None
        many = outputs.lines(given)
        return many if len(many) <= 512 and all(line.known for line in many) else None

    def read_names(self, loop: Loop, line: Text, shell: Shell) -> None:
        """Set the names of a `while read`'s condition from one line."""
        assert loop.condition is not None
        command = loop.condition.items[0].command
        assert isinstance(command, Simple)
        names = [first(word) for word in command.words[1:] if first(word) != b"-r"] or [b"REPLY"]
        parts = split(line) if not command.assignments else [line]
        for index, name in enumerate(names):
            rest = parts[index:] if index == len(names) - 1 else parts[index : index + 1]
            shell.set(name, joined(tuple(rest)))

    def _read_output(self, loop: Loop, line: Text, shell: Shell) -> Optional[Text]:
        self.read_names(loop, line, shell)
        return self.output(loop.body, shell)

    def _round_output(self, loop: Loop, item: Text, shell: Shell) -> Optional[Text]:
        shell.set(loop.variable, item)
        return self.output(loop.body, shell)

    def _simple_output(self, simple: Simple, shell: Shell, given: Optional[Text]) -> Optional[Text]:
        argv = self.words(simple.words, shell)
        for assignment in simple.assignments:
            self.assign(assignment, shell)
        if not argv:
            return self._printed_by_bash(simple, shell)
        if argv[0].raw in function_output.DECLARING and not simple.redirects:
            return function_output.declared(self, simple, shell)
        if any(map(function_output.is_for_errors, simple.redirects)):
            return EMPTY
        shell.use(argv[0], -1, argv[0].raw.rsplit(b"/", 1)[-1], True)
        if any(
            redirect.op not in (b"<", b"<<<", b"<<", b"<<-") and redirect.fd != b"2" for redirect in simple.redirects
        ):
            return None
        for redirect in simple.redirects:
            if redirect.fd in (None, b"", b"0"):
                given = self.given(redirect, shell) or given
        if argv[0].raw in shell.functions:
            return function_output.of_call(self, argv, shell, given)
        return self.printed(argv, shell, given)

    def _printed_by_bash(self, simple: Simple, shell: Shell) -> Optional[Text]:
        """`$(< FILE)` is the file's text; assignments and other redirections alone print nothing."""
        reads = [redirect for redirect in simple.redirects if redirect.op == b"<" and redirect.fd in (None, b"", b"0")]
        if len(simple.redirects) != 1 or not reads or simple.assignments:
            return EMPTY
        return self.given(reads[0], shell)

    def printed(self, argv: List[Text], shell: Shell, given: Optional[Text]) -> Optional[Text]:
        """Return what a command of these words prints, or None."""
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        if name == b"srun":
            return self._printed_by_srun(argv, shell)
        if name == b"ssh":
            return self._printed_by_ssh(argv, shell)
        if name == b"cat" and len(argv) == 2:
            return self.scene.content(argv[1], shell.cwd, self.node(shell))
        machine = self.scene.machine()
        if name in outputs.FILTERS and given is None and len(argv) > 1 and not argv[-1].raw.startswith(b"-"):
            content = self.scene.content(argv[-1], shell.cwd, self.node(shell))
            if content is not None:
                printed = outputs.run(argv[:-1], content, shell, machine)
                return outputs.with_name(printed, argv[-1]) if name == b"wc" else printed
        return outputs.run(argv, given, shell, machine)

    def _printed_by_srun(self, argv: List[Text], shell: Shell) -> Optional[Text]:
        """`srun --nodes=1 --ntasks=1 -w "$head_node" hostname -i`, and what each of several tasks prints.

        Their lines are given in the order of the tasks; who relies on another order relies on luck.
        """
        known = self.scene.tasks_of(argv, shell, self.scene) if self.scene.tasks_of is not None else None
        if known is None:
            return None
        places, rest, link = known
        texts = [self._printed_by_task(place, rest, link, shell) for place in places]
        if len(texts) == 1:
            return texts[0]
        printed = [outputs.trimmed(text) for text in texts if text is not None]
        return _bounded([outputs.unlines(printed)]) if len(printed) == len(texts) else None

    def _printed_by_task(self, place: Place, argv: List[Text], link: Link, shell: Shell) -> Optional[Text]:
        child = shell.spawn(place)
        started(link, child)
        return self.printed(argv, child, None)

    def _printed_by_ssh(self, argv: List[Text], shell: Shell) -> Optional[Text]:
        """`ssh $head_node hostname -i`: the words are one text for a shell there."""
        node, at = self.scene.destination(argv) if self.scene.destination is not None else (None, 0)
        text = joined(tuple(argv[at:]))
        if node is None or text.open or not text.raw:
            return None
        there = shell.spawn(Place(node, 0, 0, shell.place.name + b".@%d" % node, None, None))
        there.base = text
        return self.output(parse(text.raw), there)

    def stdin(self, redirects: Sequence[Redirect], shell: Shell) -> Optional[Text]:
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
            return self.scene.content(word(shell, redirect.target, self.substitute), shell.cwd, self.node(shell))
        return None

    def node(self, shell: Shell) -> Optional[int]:
        """Return the node on which files are read, None inside an image: PBS' node file is in no container."""
        return None if shell.image else shell.place.node

    def assign(self, assignment: Assignment, shell: Shell, exported: bool = False) -> None:
        name = assignment.name
        self.remember(name, assignment.span, shell)
        if assignment.array is not None:
            texts = tuple(self.words(assignment.array, shell))
            before = shell.get(name).texts() if assignment.append else ()
            shell.variables[name] = Variable(None, bounded(before + texts, name))
            return
        value = word(shell, assignment.value, self.substitute) if assignment.value else EMPTY
        if assignment.subscript is not None:
            self._assign_element(assignment, value, shell)
            return
        if assignment.append:
            value = join([shell.value(name) or EMPTY, value])
        shell.set(name, Text(value.pieces, value.open), exported)

    def remember(self, name: bytes, span: Span, shell: Shell) -> None:
        """Note where a name is assigned, so that an edit can find the place."""
        start = shell.base.span(span.start, span.start)
        if start is not None:
            here = Span(start.start, start.start + span.end - span.start)
            self.scene.assign(name, here)

    def _assign_element(self, assignment: Assignment, value: Text, shell: Shell) -> None:
        texts = list(shell.get(assignment.name).texts())
        index = arith(shell, word(shell, assignment.subscript, self.substitute)) if assignment.subscript else EMPTY
        position = number(index)
        if position is None or position > len(texts) or any(text.open for text in texts):
            shell.variables[assignment.name] = Variable(None, (open_value(b"array"),))
            return
        texts[position : position + 1] = [value]
        shell.variables[assignment.name] = Variable(None, tuple(texts))

    def rounds(self, loop: Loop, shell: Shell) -> Optional[List[Text]]:
        """Return the values a `for` goes through, or None when they are not known."""
        if loop.kind == b"for":
            texts = self.words(loop.words, shell) if loop.words is not None else list(shell.positional)
            return None if any(text.open for text in texts) else texts
        if loop.kind != b"cfor":
            return None
        match = COUNTED.fullmatch(loop.header)
        if not match:
            return None
        low = plain_number(shell, match.group(2))
        high = plain_number(shell, match.group(5))
        if low is None or high is None:
            return None
        shell.set(match.group(1), plain(b"%d" % low))
        return [plain(b"%d" % value) for value in range(low, min(high + (match.group(4) == b"<="), low + 1024))]


def plain_number(shell: Shell, expression: bytes) -> Optional[int]:
    names = re.sub(rb"\$\{?#?([A-Za-z_]\w*)(?:\[@\])?\}?", rb"\1", expression)
    if b"#" in expression:
        match = re.fullmatch(rb"\s*\$\{#([A-Za-z_]\w*)\[[@*]\]\}\s*", expression)
        texts = shell.get(match.group(1)).texts() if match else ()
        return None if not match or any(text.open for text in texts) else len(texts)
    return arithmetic.evaluate(names, lambda name: number(shell.value(name)))


def _bounded(texts: Iterable[Optional[Text]]) -> Optional[Text]:
    """Return the texts joined; None as soon as one is unknown or they grow beyond any sane output."""
    out: List[Text] = []
    size = 0
    for text in texts:
        size += len(text.raw) if text is not None else 0
        if text is None or size > MOST_BYTES:
            return None
        out.append(text)
    return join(out)
