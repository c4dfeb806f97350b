"""The shell's own commands, as far as they change what is known: export, set, source, read, cd and their like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable, Dict, List, Optional

from ..bash.nodes import Simple
from ..types.text import EMPTY, NUL, Text, join, number, plain, show
from . import arithmetic, outputs, working_folder
from .compound import Leave
from .conditions import test
from .expansion import matches, split, word
from .program_owner import UNREAD, of_alias, of_source
from .scene import Trail
from .shell_state import Shell, Variable, bounded, joined, open_value

if TYPE_CHECKING:
    from .scene import Player

_SOFT_FILES = re.compile(
    rb"(^|/)(activate|conda\.sh|mamba\.sh|micromamba\.sh|\.?bashrc|\.?bash_profile|\.?profile|profile|setvars\.sh|"
    rb"vars\.sh|lmod\.sh|modules\.sh|bash|init\.sh|setup-env\.sh)$"
)
_ASSIGNMENT = re.compile(rb"([A-Za-z_]\w*)(\+?)=")

Builtin = Callable[["Player", Simple, List[Text], Shell, Trail, Optional[Text]], Optional[int]]


def _declare(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    """export, declare, typeset, local, readonly: words are assignments and are not split."""
    command = argv[0].raw
    flags = b"".join(text.raw for text in argv[1:] if text.raw[:1] == b"-")
    hides = command == b"local" or (command in (b"declare", b"typeset") and b"g" not in flags)
    exported = (command == b"export" and b"n" not in flags) or b"x" in flags
    kept = (command == b"export" and not exported) or any(b"x" in text.raw for text in argv if text.raw[:1] == b"+")
    if exported and b"f" in flags:
        shell.shared = shell.shared.union(text.raw for text in argv[1:] if text.raw[:1] != b"-")
        return 0
    for part in simple.words[1:]:
        text = word(shell, part, run.substitute)
        raw = text.raw
        match = _ASSIGNMENT.match(raw)
        if match:
            value = text.slice(match.end())
            if match.group(2):
                value = join([shell.value(match.group(1)) or EMPTY, value])
            run.remember(match.group(1), part.span, shell)
            if hides:
                shell.hide(match.group(1))
            shell.set(match.group(1), Text(value.pieces, False), exported)
        if kept and not text.open:
            shell.keep(match.group(1) if match else raw)
        elif not match and raw[:1] != b"-" and exported:
            shell.export(raw)
        elif not match and raw[:1] != b"-" and text.open:
            shell.lose(b"declare")
    return 0


def _unset(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for text in argv[1:]:
        if text.raw[:1] != b"-":
            for name in _matched(text.raw, shell):
                shell.unset(name)
            shell.functions.pop(text.raw, None)
    return 0


def _matched(pattern: bytes, shell: Shell) -> List[bytes]:
    """Return the variables that a word names: a pattern stands for what `${!SLURM_@}` becomes."""
    if not any(letter in pattern for letter in b"*?["):
        return [pattern]
    return [name for name in shell.variables if matches(name, pattern)] or [pattern]


def _set(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for index, text in enumerate(argv[1:], 1):
        raw = text.raw
        if raw == b"--":
            shell.positional = list(bounded(tuple(argv[index + 1 :]), b"set"))
            return 0
        letters = {b"%c" % letter for letter in raw[1:]} if raw[:1] in (b"-", b"+") else set()
        if raw == b"-o" or raw == b"+o":
            shell.options |= {b"a"} if raw == b"-o" and argv[index + 1 : index + 2] == [plain(b"allexport")] else set()
            return 0
        shell.options = shell.options | letters if raw[:1] == b"-" else shell.options - letters
    return 0


def _source(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if len(argv) < 2:
        return None
    path = argv[1]
    if _SOFT_FILES.search(path.raw):
        shell.softly = True
        shell.unsettle(of_source(path.raw))
        return 0
    content = run.scene.content(path, shell.cwd)
    if content is None:
        run.scene.note(run.offset(shell, simple.span.start), "a sourced file could not be read: " + show(path.raw))
        shell.lose(b"source%d" % simple.span.start)
        _may_wait(run, trail)
        return None
    positional, shell.positional = shell.positional, argv[2:] or shell.positional
    run.text(content, shell, trail)
    shell.positional = positional
    return 0


def _named(path: Text) -> str:

    return show(path.raw)


def _eval(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:

    text = joined(tuple(argv[1:]))
    if not text.literal:
        _may_wait(run, trail)
    if text.open or any(part.open for part in argv):
        if b"conda" in simple_bytes(simple, shell) or b"micromamba" in simple_bytes(simple, shell):
            shell.softly = True
            return 0
        shell.lose(b"eval%d" % simple.span.start)
        return None
    if not text.known and (b"conda" in simple_bytes(simple, shell) or b"hook" in simple_bytes(simple, shell)):
        shell.softly = True
        return 0
    if not text.known:
        shell.unsettle(UNREAD)
    span = shell.base.span(simple.span.start, simple.span.end) or trail.span
    run.text(text, shell, trail._replace(key=trail.key + (run.key(simple, shell),), span=span))
    return None


def simple_bytes(simple: Simple, shell: Shell) -> bytes:
    """Return the bytes a command is written with."""
    return shell.base.slice(simple.span.start, simple.span.end).raw


def _exit(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    raise Leave


def _return(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    raise Leave(function=True)


def _break(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    """break and continue; outside of a loop bash goes on."""
    if not run.loops:
        return 0
    raise Leave(loop=argv[0].raw, levels=number(argv[1]) or 1 if len(argv) > 1 else 1)


def _cd(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    """It is not known whether the folder is there."""
    working_folder.cd(shell, argv)
    return None


def _pushd(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    working_folder.pushd(shell, argv)
    return None


def _popd(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    working_folder.popd(shell, argv)
    return None


def _read(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    _may_wait(run, trail)
    names = [text.raw for text in argv[1:] if text.raw[:1] != b"-"]
    array = any(text.raw[:1] == b"-" and b"a" in text.raw for text in argv[1:])
    by = next((assignment for assignment in simple.assignments if assignment.name == b"IFS"), None)
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
            shell.set(name, joined(tuple(rest)))
    return None


def _mapfile(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    _may_wait(run, trail)
    name = argv[-1].raw if len(argv) > 1 and argv[-1].raw[:1] != b"-" else b"MAPFILE"
    if given is None:
        shell.variables[name] = Variable(None, (open_value(b"mapfile." + name),))
    else:
        shell.variables[name] = Variable(None, tuple(outputs.lines(given)))
    return 0


def _printf(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if len(argv) > 3 and argv[1].raw == b"-v":
        printed = outputs.run([argv[0], *argv[3:]], None, shell, run.scene.machine()._replace(gpus=None))
        shell.set(argv[2].raw, printed if printed is not None else shell.mix(b"printf"))
        return 0
    run.written(simple, argv, shell, given)
    return 0


def _echo(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    run.written(simple, argv, shell, given)
    return 0


def _test(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    inner = argv[1:-1] if argv[0].raw == b"[" else argv[1:]
    if any(text.open for text in inner):
        return None
    return test(inner)


def _let(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for text in argv[1:]:
        name, equals, rest = text.raw.partition(b"=")
        value = (
            arithmetic.evaluate(rest, lambda name: number(shell.value(name))) if equals and NUL not in rest else None
        )
        target = re.match(rb"[A-Za-z_]\w*", name)
        if target:
            known = value is not None and target.end() == len(name)
            shell.set(target.group(), plain(b"%d" % value) if known and value is not None else shell.mix(b"let"))
    return None


def _shift(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    count = number(argv[1]) if len(argv) > 1 else 1
    gone = shell.positional[: count or 0]
    shell.positional = shell.positional[count or 0 :]
    if count is None or any(text.open for text in gone):
        shell.positional = [open_value(b"shift%d.%s" % (simple.span.start, _name_of(gone)))]
        return None
    return 0 if count <= len(gone) else 1


def _name_of(texts: List[Text]) -> bytes:
    return b"".join(text.raw for text in texts).replace(NUL, b"")[-64:]


def _getopts(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    """Which option comes next is not followed; without arguments there is none."""
    for name in (argv[2].raw if len(argv) > 2 else b"", b"OPTARG", b"OPTIND"):
        if name:
            shell.set(name, open_value(b"getopts." + name))
    return None if shell.positional[:1] or len(argv) > 3 else 1


def _wait(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    run.scene.phase += 1
    _may_wait(run, trail)
    return 0


def _sleep(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    if sum(number(text) or BRIEFLY for text in argv[1:]) >= BRIEFLY:
        _may_wait(run, trail)
    return 0


def _kill(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    run.scene.kills = run.scene.kills or not any(text.raw == b"-0" for text in argv[1:])
    return None


# What a script may run a trap at without a signal from outside, which none waits for that has ended.
_AT_THE_END = frozenset((b"EXIT", b"SIGEXIT", b"0", b"DEBUG", b"ERR", b"RETURN", b"CHLD", b"SIGCHLD"))


def _trap(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    signals = {text.raw.upper() if text.literal else b"EXIT" for text in argv[2:]}
    run.scene.trapped = run.scene.trapped or len(argv) < 3 or bool(signals & _AT_THE_END)
    return 0


def _may_wait(run: Player, trail: Trail) -> None:
    """Nothing that was begun in the background surely runs on; what a subshell beside waits for is its own."""
    if not trail.background:
        run.scene.beside.clear()
        run.scene.within.clear()


def _true(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return 0


def _false(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return 1


def _alias(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    for text in argv[1:]:
        shell.unsettle(of_alias(text.raw))
    return None


def _nothing(
    run: Player, simple: Simple, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]
) -> Optional[int]:
    return None


BRIEFLY = 60  # seconds in which no training ends

BUILTINS: Dict[bytes, Builtin] = {
    b"export": _declare, b"declare": _declare, b"typeset": _declare, b"local": _declare, b"readonly": _declare,
    b"unset": _unset, b"set": _set, b"source": _source, b".": _source, b"eval": _eval,
    b"exit": _exit, b"return": _return,
    b"cd": _cd, b"pushd": _pushd, b"popd": _popd, b"read": _read, b"mapfile": _mapfile, b"readarray": _mapfile,
    b"printf": _printf, b"echo": _echo, b"[": _test, b"test": _test, b"let": _let, b"shift": _shift, b"wait": _wait,
    b"true": _true, b":": _true, b"false": _false, b"trap": _trap, b"ulimit": _true, b"umask": _true, b"shopt": _true,
    b"hash": _nothing, b"type": _nothing, b"alias": _alias, b"unalias": _nothing, b"jobs": _true, b"disown": _true,
    b"break": _break, b"continue": _break, b"exec": _true, b"logout": _exit, b"sleep": _sleep, b"dirs": _true,
    b"getopts": _getopts, b"bind": _true, b"enable": _true, b"history": _true, b"times": _true, b"kill": _kill,
}  # fmt: skip
