"""A submission in parts with content hashes: pieces of the script by what they are for, the words, the variables.

What is read of a submission's parts: each value with the line it stands on and who says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_agents.admission.analysis import analyse
from maple_submit_filter.answer import decision
from maple_submit_filter.answer.decision import MOST_READ
from maple_submit_filter.bash import nodes
from maple_submit_filter.bash.nodes import Command, Word
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.job_records import Part, Value
from maple_submit_filter.types.submission import Submission

# What is asked of the scheduler: read of the directives, words and variables alone.
REQUESTED = frozenset(
    (
        "ntasks",
        "ntasks-per-node",
        "cpus-per-task",
        "partition",
        "queue",
        "qos",
        "account",
        "constraint",
        "time",
        "array",
    )
)

KINDS = ("directives", "environment", "setup", "launch", "after")
_DIRECTIVE = re.compile(rb"#(?:SBATCH|PBS|!)")
_LAUNCH = re.compile(
    rb"\b(?:srun|torchrun|accelerate|deepspeed|mpirun|mpiexec|ibrun|horovodrun|jsrun|aprun|prun|pbsdsh|"
    rb"python[\d.]*|apptainer|singularity|shifter|composer|colossalai)\b"
)
_ENVIRONMENT = re.compile(
    rb"[ \t]*(?:export[ \t]|[A-Za-z_]\w*=|module[ \t]|ml[ \t]|source[ \t]|\.[ \t]|conda[ \t]|unset[ \t])"
)
_NAME = re.compile(rb"\$\{?[#!]?([A-Za-z_]\w*)")
# Variables of the submit command that its options are also read from, whether or not the script names them.
_OPTIONS = (b"SBATCH_", b"PBS_DPREFIX", b"PBS_SHELL", b"PBS_DEFAULT", b"PBS_SERVER")


class _Line(NamedTuple):
    number: int
    kind: str
    text: bytes


def parts_of(request: Request, script: bytes) -> tuple[Part, ...]:
    """Return the parts of a submission; *script* is the script as the job runs it."""
    words = words_of(request)
    variables = [b"%s=%s" % pair for pair in sorted(variables_of(request.submission, script).items())]
    around = (Part("argv", "", digest("argv", words)), Part("variables", "", digest("variables", variables)))
    return (*around, *script_parts(script))


def words_of(request: Request) -> tuple[bytes, ...]:
    """Return the words of the submit command but that which names or holds the script: wherever it lies, it is one."""
    argv = request.submission.argv
    return tuple(
        word[: request.offset] if at == request.word and request.word else word for at, word in enumerate(argv) if at
    )


def variables_of(submission: Submission, script: bytes) -> dict[bytes, bytes]:
    """Return the variables of the submit command that the job may depend on."""
    named = set(_NAME.findall(script)) - {b"HOME", b"PWD", b"USER", b"LOGNAME", b"SHELL", b"TMPDIR", b"HOSTNAME"}
    return {name: value for name, value in submission.environment.items() if name in named or name.startswith(_OPTIONS)}


def script_parts(script: bytes) -> tuple[Part, ...]:
    """Return the pieces of a script; every line is in one of them."""
    lines = _kinds(script)
    parts = []
    for kind in KINDS:
        own = [line for line in lines if line.kind == kind]
        if own:
            parts.append(Part(kind, "", digest(kind, [line.text for line in own]), (own[0].number, own[-1].number)))
    return tuple(parts)


def last_read(parts: Sequence[Part]) -> Part | None:
    """Return the piece of the script at whose end the job is known: the last one before its harmless end."""
    own = [part for part in parts if part.kind in KINDS]
    return max(own, key=lambda part: (part.kind != "after", part.lines[1]), default=None)


def _kinds(script: bytes) -> list[_Line]:
    """Return the lines with what each is for; comments go with what follows, and the script's harmless end is after."""
    texts = script.removesuffix(b"\n").split(b"\n")
    first = after_from(script)
    kinds: list[str] = []
    for at, text in enumerate(texts):
        continued = at > 0 and texts[at - 1].endswith(b"\\")
        kinds.append("after" if at + 1 >= first else kinds[-1] if continued else _kind(text))
    following = "setup"
    for at in range(len(kinds) - 1, -1, -1):
        kinds[at] = kinds[at] or following
        following = kinds[at] if kinds[at] != "after" else following
    return [_Line(at + 1, kind, text) for at, (kind, text) in enumerate(zip(kinds, texts, strict=True))]


def _kind(text: bytes) -> str:
    """Return what a line is for, "" where it goes with the next one."""
    bare = text.strip()
    if _DIRECTIVE.match(text):
        return "directives"
    if not bare or bare.startswith(b"#"):
        return ""
    if _ENVIRONMENT.match(text):
        return "environment"
    return "launch" if _LAUNCH.search(text) else "setup"


def digest(kind: str, texts: Sequence[bytes]) -> str:
    """Return the hash of a part's texts in their order; two kinds of parts never have the same."""
    made = hashlib.sha256()
    for text in (kind.encode(), *texts):
        made.update(b"%d:" % len(text))
        made.update(text)
    return made.hexdigest()[:32]


# Where a script's end begins that starts nothing: commands that tell, copy and tidy up behind the last launch.

# Commands that start no other program and set nothing that one before them could have seen.
_NAMES = frozenset(
    (
        b"echo", b"printf", b"date", b"cp", b"mv", b"rm", b"mkdir", b"rmdir", b"touch", b"ls", b"cat", b"tar", b"gzip",
        b"rsync", b"chmod", b"sync", b"sleep", b"exit", b"true", b":", b"sacct", b"seff", b"sstat", b"nvidia-smi",
        b"hostname", b"uptime", b"du", b"df", b"tail", b"head", b"grep", b"wc", b"tee", b"module", b"deactivate",
    )
)  # fmt: skip


def after_from(script: bytes) -> int:
    """Return the 1-based line from which on nothing is started; the one behind the last where that cannot be told."""
    beyond = script.count(b"\n") + 2
    if len(script) > MOST_READ:
        return beyond
    items = parse(script).items
    own = {function.command.name for function in items if isinstance(function.command, nodes.Function)}
    after = beyond
    for at in range(len(items) - 1, 0, -1):
        item = items[at]
        if item.background or not _is_harmless(item.command, own):
            break
        line = line_of(script, item.command.span.start)
        if line_of(script, items[at - 1].command.span.end) < line:
            after = line
    return after


def _is_harmless(command: Command, own: set[bytes]) -> bool:
    if isinstance(command, (nodes.Pipeline, nodes.AndOr)):
        return all(_is_harmless(part, own) for part in command.commands)
    if not isinstance(command, nodes.Simple) or not all(_is_plain(word) for word in _words(command)):
        return False
    name = _literal(command.words[0]) if command.words else b":"
    return name in _NAMES and name not in own


def _words(command: nodes.Simple) -> Sequence[Word]:
    """Return every word of a command, those of assignments and redirections too."""
    values = [assignment.value for assignment in command.assignments] + [
        redirect.target for redirect in command.redirects
    ]
    bodies = [redirect.heredoc.body for redirect in command.redirects if redirect.heredoc is not None]
    return [*command.words, *(word for word in values if word is not None), *bodies]


def _is_plain(word: Word) -> bool:
    """Return whether a word runs no command of its own."""
    return all(
        isinstance(part, nodes.Literal) or isinstance(part, nodes.Param) and part.arg is None for part in word.parts
    )


def _literal(word: Word) -> bytes:
    """Return the word if it stands for itself, else b""."""
    if not all(isinstance(part, nodes.Literal) for part in word.parts):
        return b""
    return b"".join(part.text for part in word.parts if isinstance(part, nodes.Literal))


def values_of(submission: Submission, parts: Sequence[Part], site: Site) -> Iterator[Value]:
    """Yield what is known of a job from its script and the words around it; *submission* with the script as it runs.

    What the job does hangs on all of the script but its harmless end, so that is left out.
    """
    yield from _requested(submission, parts)
    last = last_read(parts)
    if last is not None and submission.script is not None:
        lines = submission.script.split(b"\n")[: last.lines[1]]
        yield from analyse(submission._replace(script=b"\n".join(lines) + b"\n"), parts, site).values


def _requested(submission: Submission, parts: Sequence[Part]) -> Iterator[Value]:
    job = decision.understood(submission, None)
    for setting in job.settings if job is not None else ():
        part = _part(setting.origin.line, setting.origin.kind, parts)
        if setting.name in REQUESTED and part is not None:
            value = setting.value.decode("utf-8", "surrogateescape")
            yield Value(setting.name, value, "", setting.origin.line, part.hash, "script")


def _part(line: int, origin: str, parts: Sequence[Part]) -> Part | None:
    """Return the part in which a setting stands."""
    kind = {"argv": "argv", "environment": "variables"}.get(origin, "directives" if line else "")
    return next((part for part in parts if part.kind == kind), None)
