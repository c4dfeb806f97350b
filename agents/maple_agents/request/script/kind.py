"""Which scheduler a script speaks to, and whether it is one that can be read at all."""

from __future__ import annotations

import os
import re

from maple_submit_filter.request.script_lines import interpreter

from ...base.missing import Refused

LONGEST = 512 * 1024  # bytes, as the submit path reads
SCHEDULERS = {"slurm": b"#SBATCH", "pbs": b"#PBS"}
_WORDS = {
    "slurm": re.compile(rb"\$\{?SLURM_|\bscontrol\b|\bsrun\b|\bsbatch\b|\bibrun\b"),
    "pbs": re.compile(rb"\$\{?(?:PBS|PALS)_|\bqsub\b|\bpbsdsh\b|\bqstat\b"),
}
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)


def readable(script: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the script with the line ends of Unix, and what was done to it. Raises `Refused` with one line."""
    if not script.strip():
        raise Refused("the script is empty: name one that starts a training")
    if len(script) > LONGEST:
        raise Refused("the script is longer than %d KiB: no batch script is" % (LONGEST // 1024))
    if b"\0" in script:
        raise Refused("line %d: a NUL byte: this is no text" % (script[: script.index(b"\0")].count(b"\n") + 1))
    source = script.replace(b"\r\n", b"\n")
    said, shell = interpreter(source)
    if said and not shell:
        raise Refused("line 1: a script of %s: only those of bash and its kind are read" % _name(said))
    if source == script:
        return source, ()
    return source, ("the line ends of Windows became those of Unix: schedulers refuse the others",)


def _name(said: bytes) -> str:
    words = [word for word in said.split() if not word.startswith(b"-")]
    last = words[1] if len(words) > 1 and os.path.basename(words[0]) == b"env" else words[0] if words else said
    return os.path.basename(last).decode("utf-8", "backslashreplace")


def scheduler_of(source: bytes, said: str | None = None) -> str:
    """Return "slurm" or "pbs": what was *said*, else by the directives, and by the words where both or none stand."""
    if said in SCHEDULERS:
        return said
    lines = source.split(b"\n")
    directives = {name: sum(line.startswith(mark) for line in lines) for name, mark in SCHEDULERS.items()}
    named = [name for name, count in directives.items() if count]
    if len(named) == 1:
        return named[0]
    body = _COMMENT.sub(b"", source)
    words = {name: len(pattern.findall(body)) for name, pattern in _WORDS.items()}
    if words["slurm"] == words["pbs"]:
        words = directives
    return "pbs" if words["pbs"] > words["slurm"] else "slurm"
