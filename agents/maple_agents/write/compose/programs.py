"""The program that was said, as a shell reads it: what a launcher takes the place of, and what stays verbatim."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from maple_submit_filter.bash.nodes import AndOr, Assignment, Command, Param, Pipeline, Simple, Word
from maple_submit_filter.bash.parser import parse

from ...base.slots import Refused

AGENTS = {  # how each agent is told that a module, or no Python script, follows
    "torchrun": (b"-m", b"--no-python"),
    "accelerate": (b"--module", b"--no_python"),
    "deepspeed": (b"--module", b"--no_python"),
}
_PREPARES = frozenset((
    b"cd", b"pushd", b"export", b"source", b".", b"module", b"ml", b"conda", b"mamba", b"micromamba", b"set", b"shopt",
    b"ulimit", b"umask", b"unset", b"mkdir", b"echo", b"printf", b"date", b"hostname", b"nvidia-smi", b"true", b":",
))  # fmt: skip
_LAUNCHERS = frozenset((
    b"torchrun", b"accelerate", b"deepspeed", b"srun", b"mpiexec", b"mpirun", b"ibrun", b"jsrun", b"aprun",
    b"horovodrun",
))  # fmt: skip
_PYTHON = re.compile(rb"python(\d+(\.\d+)?)?\Z")


class Program(NamedTuple):
    """*ahead*: what comes before it in the batch shell (`cd src && `). *assignments*: `NAME=value` words before it.

    *rest*: from its first word to the end, redirections, pipes and later commands too, as said.
    *interpreter*: the first word is a Python. *plain*: it is `python` or `python3`, whichever is on PATH, with no
    option but -u. *module*: `-m` follows. *target*: where in *rest* the script, or the module's name, begins.
    """

    ahead: bytes
    assignments: tuple[bytes, ...]
    rest: bytes
    interpreter: bool = False
    plain: bool = False
    module: bool = False
    target: int = 0

    @property
    def is_script(self) -> bool:
        """Whether a Python has to be put in front: a script or a module was said without one."""
        first = self.rest.split(None, 1)[0] if self.rest.split() else b""
        return not self.interpreter and (self.module or first.strip(b"\"'").endswith(b".py"))


def read(program: bytes) -> Program:
    """Return the parts of *program*. Raises `Refused` with one line where it is no command that can be launched."""
    if not program.strip() or b"\0" in program:
        raise Refused("the program is empty; name a command such as train.py")
    command = _launched(program)
    if command is None or not command.words:
        raise Refused("the program is no single command; put it into a file of its own: %s" % _shown(program))
    begin = (command.assignments[0] if command.assignments else command.words[0]).span.start
    first = command.words[0].span.start
    words = [_text(word, program) for word in command.words]
    _not_launched_twice(words)
    made = Program(program[:begin], tuple(_as_word(one, program) for one in command.assignments), program[first:])
    return _with_interpreter(made, words, [word.span.start - first for word in command.words])


def _launched(program: bytes) -> Simple | None:
    """Return the first command that does not only prepare something, else the first."""
    found = [one for item in parse(program).items for one in _simple(item.command)]
    training = [one for one in found if one.words and _text(one.words[0], program) not in _PREPARES]
    return next(iter(training or found), None)


def _simple(command: Command) -> list[Simple]:
    if isinstance(command, Simple):
        return [command]
    if isinstance(command, (AndOr, Pipeline)):
        return [one for part in command.commands for one in _simple(part)]
    return []


def _text(word: Word, source: bytes) -> bytes:
    return source[word.span.start : word.span.end]


def _as_word(one: Assignment, source: bytes) -> bytes:
    """Return an assignment as an argument of `env`: there a value is split at blanks, which an assignment is not."""
    written = source[one.span.start : one.span.end]
    bare = one.value is not None and any(isinstance(part, Param) and not part.quoted for part in one.value.parts)
    return b'"%s"' % written if bare and b'"' not in written and b"'" not in written else written


def _not_launched_twice(words: list[bytes]) -> None:
    name = os.path.basename(words[0].strip(b"\"'"))
    by_module = _PYTHON.match(name) is not None and any(
        one in (b"torch.distributed.run", b"torch.distributed.launch") for one in words[1:4]
    )
    if name in _LAUNCHERS or by_module:
        raise Refused("the program begins with a launcher, which Maple writes: name the program alone, not %s"
                      % _shown(b" ".join(words[:2])))  # fmt: skip


def _with_interpreter(made: Program, words: list[bytes], starts: list[int]) -> Program:
    name = words[0].strip(b"\"'")
    at = 1 if _PYTHON.match(os.path.basename(name)) else 0
    interpreter, plain = at == 1, name in (b"python", b"python3")
    while interpreter and at < len(words) and words[at] == b"-u":
        at += 1
    module = at < len(words) and words[at] == b"-m"
    at += module
    if at >= len(words):
        raise Refused("the program names no script: %s" % _shown(b" ".join(words)))
    plain = plain and (module or not words[at].startswith(b"-"))
    return made._replace(interpreter=interpreter, plain=plain, module=module, target=starts[at])


def for_agent(program: Program, agent: str) -> tuple[bytes, bytes]:
    """Return the agent's own option in front of the program, b"" none, and what of the program stays.

    An agent starts Python by itself, unbuffered, the one that it runs in. So `python train.py` and
    `python3 -u train.py` become `train.py`, and `python -m pkg.mod` the module that the agent is told of. A Python of
    another name, or with options of its own, is kept, and so is a program that is none: the agent is told to start it
    as it is.
    """
    module, as_it_is = AGENTS[agent]
    if program.module and (program.plain or not program.interpreter):
        return module, program.rest[program.target :]
    if program.plain:
        return b"", program.rest[program.target :]
    return (b"", program.rest) if program.is_script else (as_it_is, program.rest)


def _shown(text: bytes) -> str:
    shown = " ".join(text.decode("utf-8", "backslashreplace").split())
    return shown if len(shown) <= 60 else shown[:57] + "..."
