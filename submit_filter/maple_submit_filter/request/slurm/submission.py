"""A submission as sbatch reads it: command line, environment, script."""

from __future__ import annotations

from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...types.edits import Span
from ...types.job import Directive, JobScript, Oddity, Origin, Setting, Settings
from ...types.submission import Submission, travels
from ..directives import DirectiveLine, DirectiveWord, directives, origin
from ..options import NO, GivenOption, read_options
from .options import ENVIRONMENT, SBATCH, TABLES, translated
from .script_lines import (
    DOS_BREAKS,
    foreign_lines,
    head,
    interpreter,
    late,
    lines_of,
    near_misses,
    own_lines,
    refusal,
    variables,
)

READ_WITH = {b"#SBATCH": SBATCH, **TABLES}
UNKNOWN_OPTION = "unrecognized option"
HET_WORDS = (b"hetjob", b"packjob")
WRAPPED = b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n"


class ArgvReading(NamedTuple):
    """The words of an sbatch command.

    *script_index*: the word that names the script, None if it comes from stdin or --wrap. *args*: words for the script.
    *problem*: why sbatch refuses these words, or "". *het*: several components, which are left alone.
    """

    settings: Tuple[Setting, ...]
    script_index: Optional[int]
    wrap: Optional[bytes]
    args: Tuple[bytes, ...]
    het: bool
    problem: str


def read_argv(argv: Sequence[bytes]) -> ArgvReading:
    """Read the words of an sbatch command; the first is the command itself."""
    reading = read_options(SBATCH, argv)
    settings = tuple(
        Setting(
            option.name,
            option.value,
            Origin("argv", argv_index=option.at, argv_count=option.words, spelling=option.spelling),
        )
        for option in reading.options
    )
    rest = tuple(argv[reading.end :])
    wrap = next((setting.value for setting in reversed(settings) if setting.name == "wrap"), None)
    het = bool(rest) and rest[0] == b":" and not reading.problem
    problem = reading.problem
    if wrap is not None and rest and not het and not problem:
        problem = "Script arguments not permitted with --wrap option"
    script_index = reading.end if rest and wrap is None and not het and not problem else None
    return ArgvReading(settings, script_index, wrap, rest[1:] if script_index is not None else (), het, problem)


def environment_settings(environment: Mapping[bytes, bytes]) -> Tuple[Setting, ...]:
    """Return what the SBATCH_ variables say. A flag is set by an empty value, `yes` or a number that is not 0."""
    settings: List[Setting] = []
    for variable, name in ENVIRONMENT:
        value = environment.get(variable)
        if value is None:
            continue
        if SBATCH.long[name.encode()].value == NO or name == "requeue":
            if value and value.lower() != b"yes" and not _number_not_zero(value):
                continue
            value = b""
        settings.append(Setting(name, value, Origin("environment", variable=variable)))
    return tuple(settings)


def _number_not_zero(value: bytes) -> bool:
    value = value.strip().lstrip(b"+-")
    return value.isdigit() and bool(value.strip(b"0"))


def read_script(source: bytes, ignore_pbs: bool = False) -> JobScript:
    """Read the directives of a script. *ignore_pbs*: command line or environment say so; the script may, too.

    Those of a script with DOS line breaks are read as they are meant, without the carriage returns.
    """
    shebang, is_shell = interpreter(source)
    whole = refusal(source)
    if whole and whole != DOS_BREAKS:
        return JobScript(source, shebang, is_shell, (), (), whole, False, unreadable=True)
    lines = lines_of(source)
    first_command = head(source, lines)
    own = own_lines(source, lines, first_command)
    settings, problems, het = _own_settings(own)
    own_directives = directives(own, settings)
    oddities = [*problems, *variables(settings), *_unread(source, lines, first_command, is_shell)]
    if not ignore_pbs and not any(setting.name == "ignore-pbs" for setting in settings):
        more, other, more_het = _foreign(source, lines)
        own_directives += more
        oddities += other
        het = het or more_het
    refused = whole or next((oddity.says for oddity in oddities if oddity.kind == "refused"), "")
    others = [line for prefix in (b"#PBS", b"#BSUB") for line in foreign_lines(source, lines, prefix)]
    disputed = next((line.line for line in (*own, *others) if line.disputed), 0)
    oddities.sort(key=lambda oddity: oddity.span)
    return JobScript(source, shebang, is_shell, own_directives, tuple(oddities), refused, het, disputed, bool(whole))


def components(source: bytes) -> List[Settings]:
    """Return what the `#SBATCH` lines say of each component of a heterogeneous job."""
    parts: List[List[DirectiveWord]] = [[]]
    lines = lines_of(source)
    for word in [word for line in own_lines(source, lines, head(source, lines)) for word in line.words]:
        if word.text in HET_WORDS:
            parts.append([])
        else:
            parts[-1].append(word)
    return [Settings(_read(part, b"#SBATCH")[0]) for part in parts]


def _own_settings(lines: Tuple[DirectiveLine, ...]) -> Tuple[Tuple[Setting, ...], List[Oddity], bool]:
    """Return what the `#SBATCH` lines say of the first component, what sbatch will not take, and if there are more."""
    words: List[DirectiveWord] = []
    for line in lines:
        for word in line.words:
            if word.text in HET_WORDS:
                return _read(words, b"#SBATCH")[0], [], True
            words.append(word)
        if line.problem:
            return (), [Oddity("refused", line.span, line.line, line.problem)], False
    settings, problems = _read(words, b"#SBATCH")
    return settings, problems, False


def _read(words: List[DirectiveWord], prefix: bytes) -> Tuple[Tuple[Setting, ...], List[Oddity]]:
    all_words = tuple(words)
    options, end, problem, oddities = _all_said(all_words, prefix)
    settings: List[Setting] = []
    for option in options:
        place = origin(all_words, option)
        if prefix == b"#SBATCH":
            settings.append(Setting(option.name, option.value, place))
            continue
        for name, value, as_it_is in translated(prefix, option):
            settings.append(Setting(name, value, place if as_it_is else place._replace(value_span=None)))
    if not problem and end < len(all_words):
        problem = "Invalid directive found in batch script: %s" % all_words[end].text.decode(
            "utf-8", "backslashreplace"
        )
    if problem:
        oddities.append(_refused(all_words[end], problem))
    return tuple(settings), oddities


def _all_said(words: Tuple[DirectiveWord, ...], prefix: bytes) -> Tuple[List[GivenOption], int, str, List[Oddity]]:
    """Return the options, where reading ended and why, and the options that are not in the table.

    A site's plug-in (SPANK) may add options, `--image` or `--container-image` say, so one that is not known is passed
    over, with the word behind it where that may be its value, and the rest still counts.
    """
    texts = [word.text for word in words]
    options: List[GivenOption] = []
    oddities: List[Oddity] = []
    start = 0
    while True:
        reading = read_options(READ_WITH[prefix], texts, start)
        options += reading.options
        if not reading.problem.startswith(UNKNOWN_OPTION):
            return options, reading.end, reading.problem, oddities
        oddities.append(_refused(words[reading.end], reading.problem))
        start = reading.end + 1
        if b"=" not in texts[reading.end] and start < len(texts) and not texts[start].startswith(b"-"):
            start += 1


def _refused(word: DirectiveWord, says: str) -> Oddity:
    return Oddity("refused", word.span, word.line, says)


def _unread(source: bytes, lines: List[Span], first_command: int, is_shell: bool) -> List[Oddity]:
    """Return the directives that are not read, behind the first command or spelled wrongly before it."""
    before = [(span, index + 1) for index, span in enumerate(lines[:first_command])]
    behind = [
        (span, index + 1)
        for index, span in enumerate(lines)
        if index >= first_command and source.startswith(b"#SBATCH", span.start)
    ]
    return [*near_misses(source, before), *late(source, behind, is_shell)]


def _foreign(source: bytes, lines: List[Span]) -> Tuple[Tuple[Directive, ...], List[Oddity], bool]:
    """Return what `#PBS` and then `#BSUB` lines say: each wins over all before it."""
    foreign: Tuple[Directive, ...] = ()
    oddities: List[Oddity] = []
    het = False
    for prefix in (b"#PBS", b"#BSUB"):
        read = foreign_lines(source, lines, prefix)
        words = [word for line in read for word in line.words if word.text not in HET_WORDS]
        het = het or len(words) < sum(len(line.words) for line in read)
        settings, problems = _read(words, prefix)
        foreign += directives(read, settings)
        oddities += problems
        oddities += [oddity for line in read for oddity in _foreign_oddities(line)]
    return foreign, oddities, het


def _foreign_oddities(line: DirectiveLine) -> List[Oddity]:
    says = "sbatch reads %s lines too, and they win over #SBATCH" % line.prefix.decode()
    oddities = [Oddity("other-scheduler", line.span, line.line, says)]
    return [*oddities, Oddity("refused", line.span, line.line, line.problem)] if line.problem else oddities


def ignores_pbs(argv: ArgvReading, environment: Mapping[bytes, bytes]) -> bool:
    """Return whether command line or environment tell sbatch to leave `#PBS` lines alone."""
    return any(setting.name == "ignore-pbs" for setting in (*argv.settings, *environment_settings(environment)))


def settings(argv: ArgvReading, environment: Mapping[bytes, bytes], job_script: Optional[JobScript]) -> Settings:
    """Return every setting: the command line wins over the environment, that over the script."""
    given: List[Setting] = []
    for directive in job_script.directives if job_script else ():
        given.extend(directive.settings)
    return Settings((*given, *environment_settings(environment), *argv.settings))


def candidates(name: bytes, chdir: bytes, cwd: bytes, path: bytes) -> Tuple[bytes, ...]:
    """Return where sbatch looks for a script, in order.

    A name that begins with a dot counts from *cwd*; any other relative one from --chdir (*cwd* where there is none),
    then PATH, then *cwd* (traced, sbatch 22.05.8).
    """
    if name.startswith(b"/"):
        return (name,)
    if name.startswith(b"."):
        return (_joined(cwd, name),)
    folders = [_joined(cwd, chdir) if chdir else cwd, *(folder for folder in path.split(b":") if folder), cwd]
    return tuple(dict.fromkeys(_joined(folder, name) for folder in folders))


def _joined(folder: bytes, name: bytes) -> bytes:
    return name if name.startswith(b"/") else folder.rstrip(b"/") + b"/" + name


def find_script(
    argv: Sequence[bytes], reading: ArgvReading, cwd: bytes, path: bytes, exists: Callable[[bytes], bool]
) -> Optional[bytes]:
    """Return the file that holds the script, None if there is none that may be read."""
    if reading.script_index is None:
        return None
    chdir = next((setting.value for setting in reversed(reading.settings) if setting.name == "chdir"), b"")
    places = candidates(argv[reading.script_index], chdir, cwd, path)
    return next((place for place in places if exists(place)), None)


def wrapped(command: bytes) -> bytes:
    """Return the script that sbatch makes of a --wrap command."""
    return WRAPPED % command


def submission_from_words(
    argv: Sequence[bytes],
    cwd: bytes,
    environment: Mapping[bytes, bytes],
    read: Callable[[bytes], Optional[bytes]],
    uid: int = -1,
) -> Submission:
    """Return the submission that an sbatch command makes, for `maple check`.

    *read* returns a file's bytes, or None where there is none; it is asked for b"-" where the script comes on stdin,
    which a script named `-` says as well.
    """
    reading = read_argv(argv)
    text: Optional[bytes] = None
    came, name = "none", b""
    if reading.problem or reading.het:
        pass
    elif reading.wrap is not None:
        text, came = wrapped(reading.wrap), "wrap"
    elif reading.script_index is None or argv[reading.script_index] == b"-":
        text, came = read(b"-"), "stdin"
    else:
        name = argv[reading.script_index]
        contents: "dict[bytes, bytes]" = {}
        find_script(argv, reading, cwd, environment.get(b"PATH", b""), lambda place: _kept(read, place, contents))
        text, came = next(iter(contents.values()), None), "file"
    kept = {name: value for name, value in environment.items() if travels(name, text or b"")}
    return Submission("slurm", tuple(argv), text, came if text is not None else "none", name, cwd, uid, kept)


def _kept(read: Callable[[bytes], Optional[bytes]], place: bytes, contents: "dict[bytes, bytes]") -> bool:
    text = read(place)
    if text is not None:
        contents[place] = text
    return text is not None
