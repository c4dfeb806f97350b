"""A submission as qsub reads it: command line, environment, script."""

from __future__ import annotations

import os
from typing import Callable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...types.edits import Span
from ...types.job import Directive, JobScript, Oddity, Origin, Setting, Settings
from ...types.submission import Submission, travels
from ..directives import DirectiveLine, DirectiveWord
from ..options import GivenOption, read_options
from ..slurm.script_lines import SHELLS, interpreter
from .options import AT_ONCE, ATTRIBUTES, QSUB, RESOURCES, STRIPPED, Items, attributes, is_illegal, resources
from .script_lines import DEFAULT_PREFIX, beaten, head, other_schedulers, stands, unread, without_effect

LONGEST_PREFIX = 32  # bytes of -C that count
CRLF = "qsub: script contains cr, lf"
OTHER_SHELLS = frozenset((b"csh", b"tcsh", b"fish"))
LISTS = {RESOURCES: resources, ATTRIBUTES: attributes}


class ArgvReading(NamedTuple):
    """The words of a qsub command.

    *script_index*: the word that names the script, None if it comes from stdin or there is an *executable* (its words).
    *prefix*: what -C says begins a directive, None where it is not said. *interactive*: -I or -W interactive=true.
    *problem*: why qsub refuses these words with its usage and exit code 2, or "".
    """

    settings: Tuple[Setting, ...]
    script_index: Optional[int]
    executable: Optional[Tuple[bytes, ...]]
    prefix: Optional[bytes]
    interactive: bool
    problem: str


def read_argv(argv: Sequence[bytes]) -> ArgvReading:
    """Read the words of a qsub command; the first is the command itself."""
    if len(argv) == 2 and argv[1] == b"--version":
        version = Setting("version", b"", Origin("argv", argv_index=1, argv_count=1, spelling=b"--version"))
        return ArgvReading((version,), None, None, None, False, "")
    reading = read_options(QSUB, argv)
    settings: List[Setting] = []
    problem = reading.problem
    for option in reading.options:
        place = Origin("argv", argv_index=option.at, argv_count=option.words, spelling=option.spelling)
        items, wrong = _items(option)
        settings += [Setting(name, value, place) for name, value, _, _ in items]
        problem = problem or wrong
    rest = tuple(argv[reading.end :])
    dashes = reading.end > 1 and argv[reading.end - 1] == b"--"
    problem = problem or _operands(reading.options, rest, reading.end, dashes)
    prefixes = [setting.value[:LONGEST_PREFIX] for setting in settings if setting.name == "directive-prefix"]
    named = bool(rest) and not dashes and not problem and rest[0] not in (b"", b"-")
    return ArgvReading(
        tuple(settings),
        reading.end if named else None,
        rest if dashes and not problem else None,
        prefixes[-1] if prefixes else None,
        interactive(settings),
        problem,
    )


def _operands(options: Tuple[GivenOption, ...], rest: Tuple[bytes, ...], end: int, dashes: bool) -> str:
    """Return why qsub refuses the words behind the options, or ""."""
    if dashes and options and options[-1].value_word == end - 1:
        return "the value -- is taken for the end of the options"
    if dashes and not rest:
        return "-- wants a program behind it"
    if not dashes and len(rest) > 1:
        return "more than one word behind the options: options stand before the script"
    return ""


def _items(option: GivenOption) -> Tuple[List[Tuple[str, bytes, int, int]], str]:
    """Return what one option says, as (name, value, its first and last byte in the option's), and a problem."""
    value, skipped = option.value, 0
    if option.name in LISTS:
        read: Items = LISTS[option.name](value)
        items = [
            (item.name.decode("utf-8", "backslashreplace"), item.value, item.start, item.end) for item in read.items
        ]
        return items, "illegal %s value: %s" % (option.spelling.decode(), read.problem) if read.problem else ""
    if option.name in STRIPPED:
        skipped = len(value) - len(value.lstrip())
    wrong = (
        "illegal %s value" % option.spelling.decode()
        if option.name in AT_ONCE and is_illegal(option.name, value)
        else ""
    )
    return [(option.name, value[skipped:], skipped, len(value))], wrong


def interactive(settings: Sequence[Setting]) -> bool:
    """Return whether any of the settings makes the job interactive."""
    return any(setting.name == "interactive" and setting.value.lower() in (b"", b"true") for setting in settings)


def prefix_in_force(argv: ArgvReading, environment: Mapping[bytes, bytes]) -> bytes:
    """Return what begins a directive: -C, else PBS_DPREFIX, else `#PBS`; b"" where there are no directives."""
    if argv.prefix is not None:
        return argv.prefix
    return environment.get(b"PBS_DPREFIX", DEFAULT_PREFIX)


def shell_in_force(argv: ArgvReading, environment: Mapping[bytes, bytes]) -> Tuple[bytes, bytes]:
    """Return the -S of the command line, and the shell of PBS_SHELL, which one in the script beats; b"" if not said."""
    shell = next((setting.value for setting in reversed(argv.settings) if setting.name == "shell"), b"")
    return shell, environment.get(b"PBS_SHELL", b"")


def read_script(source: bytes, prefix: bytes = DEFAULT_PREFIX, shell: Tuple[bytes, bytes] = (b"", b"")) -> JobScript:
    """Read the directives of a job script.

    *prefix* and *shell* are `prefix_in_force` and `shell_in_force`. `is_shell` holds where `#!` names a shell, or where
    there is none: then the shell of -S reads the script, else the login shell, which is taken for a shell like bash.
    """
    shebang, named = interpreter(source)
    read = head(source, prefix)
    directives: List[Directive] = []
    oddities: List[Oddity] = []
    for line in read.directives:
        settings, refused = _directive(source, line)
        directives.append(Directive(line.span, line.line, prefix, settings))
        oddities += [Oddity("refused", line.span, line.line, refused)] if refused else []
    said_all = [setting for directive in directives for setting in directive.settings]
    is_shell = _is_shell(shebang, named, _shell(said_all, shell))
    oddities += [*beaten(said_all), *without_effect(said_all)]
    oddities += [*unread(source, read, prefix, is_shell), *other_schedulers(source, read)]
    oddities.sort(key=lambda oddity: oddity.span)
    first = CRLF if b"\r\n" in source else next((oddity.says for oddity in oddities if oddity.kind == "refused"), "")
    return JobScript(
        source, shebang, is_shell, tuple(directives), tuple(oddities), first, False, unreadable=first == CRLF
    )


def _shell(settings: Sequence[Setting], shell: Tuple[bytes, bytes]) -> bytes:
    """Return the program that -S names, without the host behind `@`."""
    in_script = next((setting.value for setting in reversed(settings) if setting.name == "shell"), b"")
    value = shell[0] or in_script or shell[1]
    return os.path.basename(value.split(b",")[0].split(b"@")[0])


def _is_shell(shebang: bytes, named: bool, shell: bytes) -> bool:
    if shell and shell not in SHELLS and shell not in OTHER_SHELLS:
        return False
    return named if shebang else not shell or shell in SHELLS


def _directive(source: bytes, line: DirectiveLine) -> Tuple[Tuple[Setting, ...], str]:
    """Return the settings of one directive, and what qsub says where it refuses it."""
    if line.problem:
        return (), line.problem
    texts = [word.text for word in line.words]
    reading = read_options(QSUB, texts, 0)
    settings: List[Setting] = []
    problem = reading.problem
    for option in reading.options:
        items, wrong = _items(option)
        problem = problem or wrong
        settings += [
            Setting(name, value, _origin(source, line, option, start, end)) for name, value, start, end in items
        ]
    dashes = reading.end > 0 and texts[reading.end - 1] == b"--"
    if problem or dashes or reading.end < len(texts):
        shown = b"".join(text + b" " for text in texts).decode("utf-8", "backslashreplace")
        return tuple(settings), "qsub: directive error: " + shown
    return tuple(settings), ""


def _origin(source: bytes, line: DirectiveLine, option: GivenOption, start: int, end: int) -> Origin:
    """Return where an option stands, and where the bytes *start* to *end* of its value; -1: they stand nowhere."""
    first, last = line.words[option.at], line.words[option.at + option.words - 1]
    value: Optional[Span] = None
    if option.value_word >= 0 and start >= 0:
        value = stands(line.words[option.value_word], option.value_at + start, option.value_at + end)
    whole = Span(first.span.start, last.span.end)
    span = whole if _alone(first, option) and b"\n" not in source[whole.start : whole.end] else None
    return Origin("directive", span, value, line=first.line, spelling=option.spelling)


def _alone(word: DirectiveWord, option: GivenOption) -> bool:
    """Return whether no other option shares the word, as in `-hN2`."""
    return word.text == option.spelling if option.value_word != option.at else option.value_at == len(option.spelling)


def settings(argv: ArgvReading, environment: Mapping[bytes, bytes], job_script: Optional[JobScript]) -> Settings:
    """Return every setting: the command line wins over the script, that over PBS_SHELL.

    Of two values of one resource the first wins in a script and the last on the command line; of everything else the
    last wins. `block=false` and `interactive=false` undo nothing, and `-C` in a script says nothing.
    """
    given: List[Setting] = []
    shell = environment.get(b"PBS_SHELL")
    if shell is not None:
        given.append(Setting("shell", shell, Origin("environment", variable=b"PBS_SHELL")))
    in_script = [setting for directive in job_script.directives for setting in directive.settings] if job_script else []
    given += [setting for setting in reversed(in_script) if setting.origin.spelling == b"-l"]
    given += [
        setting for setting in in_script if setting.origin.spelling != b"-l" and setting.name != "directive-prefix"
    ]
    given += argv.settings
    return Settings((*_undoing(given, True), *_undoing(given, False)))


def _undoing(settings: Sequence[Setting], wanted: bool) -> Iterator[Setting]:
    for setting in settings:
        if wanted == (setting.name in ("block", "interactive") and setting.value.lower() == b"false"):
            yield setting


def job_name(settings: Settings, path: bytes) -> bytes:
    """Return the name of the job: that of -N, else the last part of the script's *path*, b"" being stdin."""
    return settings.value("job-name") or os.path.basename(path) or b"STDIN"


def submission_from_words(
    argv: Sequence[bytes],
    cwd: bytes,
    environment: Mapping[bytes, bytes],
    read: Callable[[bytes], Optional[bytes]],
    uid: int = -1,
) -> Submission:
    """Return the submission that a qsub command makes, for `maple check`.

    *read* returns a file's bytes, or None where there is none; it is asked for b"-" where the script comes on stdin.
    A script is opened as it is named: qsub looks in no other place. An interactive job reads nothing from stdin.
    """
    reading = read_argv(argv)
    text: Optional[bytes] = None
    came, name = "none", b""
    if reading.script_index is not None:
        name, came = argv[reading.script_index], "file"
        text = read(name if name.startswith(b"/") else cwd.rstrip(b"/") + b"/" + name)
    elif not (reading.problem or reading.executable or reading.interactive or _only_version(reading)):
        text, came = read(b"-"), "stdin"
    kept = {name: value for name, value in environment.items() if travels(name, text or b"")}
    return Submission("pbs", tuple(argv), text, came if text is not None else "none", name, cwd, uid, kept)


def _only_version(reading: ArgvReading) -> bool:
    return any(setting.name == "version" for setting in reading.settings)
