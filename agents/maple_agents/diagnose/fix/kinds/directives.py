"""Options of the request: said where they were said, else on a directive line behind the last one."""

from __future__ import annotations

import re

from maple_submit_filter.types.edits import ArgvEdit, Edit, Fix, Safety, Span
from maple_submit_filter.types.job import Setting

from ..registry import PLAIN, Given, fix
from .insertion import before_commands, newline

_NAME = re.compile(r"[a-z][a-z-]*\Z")
_LETTERS = {"queue": b"-q", "account": b"-A", "project": b"-P"}  # of qsub; resources stand behind -l
_RESOURCES = ("walltime",)  # that may be said beside a select


@fix("set-directive")
def set_directive(given: Given) -> Fix | None:
    """Say option *name* with *value*."""
    name, value = given.word("name"), given.word("value")
    return with_option(given, name, value, "--%s=%s" % (name, value))


@fix("drop-directive")
def drop_directive(given: Given) -> Fix | None:
    """Leave out option *name*, where directives or the command line say it."""
    name = given.word("name")
    edits: list[Edit] = []
    argv: list[ArgvEdit] = []
    for setting in given.job.settings.all(name):
        at = setting.origin
        if at.kind == "argv":
            argv += [ArgvEdit(at.argv_index + more, (), "drop-directive") for more in range(at.argv_count)]
        elif at.kind == "directive":
            if at.span is None or _shared(setting, given):
                return None
            edits.append(_without(given.job.source, at.span))
    return Fix(tuple(edits), Safety.ASK, "without %s" % _shown(name), tuple(argv)) if edits or argv else None


def _shared(setting: Setting, given: Given) -> bool:
    """Return whether the option's words say other things as well, as in `-l select=2,walltime=1:00:00`."""
    others = (each for line in given.job.script.directives for each in line.settings if each is not setting)
    return any(each.origin.span == setting.origin.span for each in others)


def _without(source: bytes, span: Span) -> Edit:
    """A directive that says nothing else becomes a comment, so that lines keep their numbers; else its word goes."""
    start, end = source.rfind(b"\n", 0, span.start) + 1, source.find(b"\n", span.end)
    end = len(source) if end < 0 else end
    head, _, before = source[start : span.start].partition(b" ")
    if before.strip() or source[span.end : end].strip():
        blank = span.start - 1 if source[span.start - 1 : span.start] in (b" ", b"\t") else span.start
        return Edit(Span(blank, span.end), b"", "drop-directive")
    return Edit(Span(start, start + 1), b"##", "drop-directive") if head else Edit(span, b"", "drop-directive")


def with_option(given: Given, name: str, value: str, says: str) -> Fix | None:
    """Return the fix that says an option; None where name or value could be more than that, or it is said so already.

    A directive is changed where it stands; a command line, or a variable that beats directives, by argv.
    """
    if not _NAME.match(name) or not PLAIN.match(value):
        return None
    setting, new = given.job.settings.get(name), value.encode()
    if setting is not None and setting.value == new:
        return None
    kind = setting.origin.kind if setting is not None else ""
    if setting is not None and kind == "directive":
        at = setting.origin.value_span
        return Fix((Edit(at, new, name),), Safety.ASK, says) if at is not None else None
    if setting is not None and kind == "argv":
        return _in_argv(given, setting, new, says)
    if kind == "environment" or given.job.submission.came == "wrap":
        return _on_argv(given, name, new, says)
    return _new_line(given, name, new, says)


def _in_argv(given: Given, setting: Setting, new: bytes, says: str) -> Fix | None:
    at, count = setting.origin.argv_index, setting.origin.argv_count
    old, argv = setting.value, given.job.submission.argv
    if given.case.scheduler == "slurm":
        word = b"--%s=%s" % (setting.name.encode(), new)
        gone = [ArgvEdit(at + more, (), setting.name) for more in range(1, count)]
        return Fix((), Safety.ASK, says, (ArgvEdit(at, (word,), setting.name), *gone))
    word = argv[at + count - 1]
    resource = b"%s=%s" % (setting.name.encode(), old)
    if setting.origin.spelling == b"-l":
        match = re.search(rb"(?<![^,l])" + re.escape(resource) + rb"(?=,|\Z)", word)
        span = (match.end() - len(old), match.end()) if match and setting.name != "select" or match else None
    else:
        span = (len(word) - len(old), len(word)) if word.endswith(old) and old else None
    if span is None:
        return None
    changed = word[: span[0]] + new + word[span[1] :]
    return Fix((), Safety.ASK, says, (ArgvEdit(at + count - 1, (changed,), setting.name),))


def _on_argv(given: Given, name: str, new: bytes, says: str) -> Fix | None:
    """Put the option first on the command line, which beats directives and variables."""
    if given.case.scheduler != "slurm":
        return None
    command = given.job.submission.argv[0]
    return Fix((), Safety.ASK, says, (ArgvEdit(0, (command, b"--%s=%s" % (name.encode(), new)), name),))


def _new_line(given: Given, name: str, new: bytes, says: str) -> Fix | None:
    source, words = given.job.source, _directive(given, name, new)
    at = _behind_directives(given)
    if words is None or at is None:
        return None
    nl = newline(source)
    whole = words + nl if at < len(source) or source.endswith(b"\n") or not source else nl + words
    return Fix((Edit(Span(at, at), whole, name),), Safety.ASK, says)


def _directive(given: Given, name: str, new: bytes) -> bytes | None:
    """Return the directive line; None where the scheduler has no such option, or other words begin its directives."""
    lines = given.job.script.directives
    if given.case.scheduler == "slurm":
        return b"#SBATCH --%s=%s" % (name.encode(), new)
    own = "directive-prefix" not in given.job.settings and b"PBS_DPREFIX" not in given.job.submission.environment
    prefix = lines[0].prefix if lines else b"#PBS" if own else b""
    if not prefix or not (name in _LETTERS or name in _RESOURCES):
        return None
    return prefix + (b" %s %s" % (_LETTERS[name], new) if name in _LETTERS else b" -l %s=%s" % (name.encode(), new))


def _behind_directives(given: Given) -> int | None:
    """Return the start of the line behind the last directive, else behind `#!`; None where a command comes first."""
    source = given.job.source
    last = max((directive.span.end for directive in given.job.script.directives), default=-1)
    if last < 0 and not source.startswith(b"#!"):
        return 0 if given.case.scheduler == "pbs" else None
    end = source.find(b"\n", max(last, 0))
    at = len(source) if end < 0 else end + 1
    return at if at <= before_commands(source) else None


def _shown(name: str) -> str:
    return "--" + name
