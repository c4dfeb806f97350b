"""A submission in parts with content hashes: pieces of the script by what they are for, the words, the variables."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.job_records import Part
from maple_submit_filter.types.submission import Submission

from .endings import after_from

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
    variables = [b"%s=%s" % one for one in sorted(variables_of(request.submission, script).items())]
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
    found = []
    for kind in KINDS:
        own = [one for one in lines if one.kind == kind]
        if own:
            found.append(Part(kind, "", digest(kind, [one.text for one in own]), (own[0].number, own[-1].number)))
    return tuple(found)


def last_read(parts: Sequence[Part]) -> Part | None:
    """Return the piece of the script at whose end the job is known: the last one before its harmless end."""
    own = [one for one in parts if one.kind in KINDS]
    return max(own, key=lambda one: (one.kind != "after", one.lines[1]), default=None)


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
