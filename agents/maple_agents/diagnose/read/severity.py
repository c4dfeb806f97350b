"""How bad a line sounds: by the level that its writer gave it, else by its words."""

from __future__ import annotations

import re

from ...request.language.vocabulary import alternatives, texts
from ..values import Severity
from .templates import Screened

_WORDS = texts("severity")
_FATAL = Screened(alternatives(_WORDS["fatal"]))
_ERROR = Screened(alternatives(_WORDS["error"]))
_WARNING = Screened(alternatives(_WORDS["warning"]))
# words that sound bad and are none: a metric, a count of none, an option or a name
_HARMLESS = Screened(alternatives(_WORDS["harmless"]), re.I)
_SAID = re.compile(
    r"(?:[\w./+@-]+: ){0,3}(?:[\w./+-]+:\d+:(?:\d+:)? ?)?(?P<word>fatal error|fatal|error|warning|note|info"
    r"|panic)(?:\[\w+\])? ?: ",
    re.I,
)
_KEYED = Screened(r"""["']?\blevel(?:name)?["']?\s*[:=]\s*["']?(?P<word>[A-Za-z]+)""")
_SPREAD = re.compile(
    r"[\[|(<:] ?(?:[A-Z]{2,6}_)?(?P<word>DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL) ?[\]|)>:]"
    r"|\s-\s(?P<dashed>DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\s-\s"
)
_PYTHON = re.compile(
    r"^(?:.*:\d+: )?\w*Warning: |^(?:Exception ignored in|warnings?\.warn\()"
    r"|^The node '[^']*' has failed to (?:shutdown|send a keep-alive heartbeat to) the rendezvous"  # a warning of torch
)
# libfabric:PID:TIME::cxi:…():253<warn> …, MIOpen(HIP): Warning [SQLiteBase] …, NCCL INFO NET/OFI …
_MARKED = re.compile(
    r"libfabric:\d+:[^<\s]{0,200}<(?P<word>\w{4,6})>|MIOpen\(\w+\): (?P<after>\w{4,7}) \[|R?NCCL (?P<nccl>INFO|TRACE) "
)
_LEVELS = {
    "debug": Severity.NOTE, "trace": Severity.NOTE, "info": Severity.NOTE, "note": Severity.NOTE,
    "notice": Severity.NOTE,
    "warn": Severity.WARNING, "warning": Severity.WARNING, "error": Severity.ERROR, "err": Severity.ERROR,
    "severe": Severity.ERROR, "fatal": Severity.FATAL, "critical": Severity.ERROR, "fatal error": Severity.ERROR,
    "panic": Severity.FATAL,
}  # fmt: skip


def severity(words: str, level: str = "") -> Severity:
    """Return how bad *words* (a line without its prefix) sound; *level* is what its prefix says.

    A level caps the words: an INFO that speaks of an error is a note. An error may still tell of a death.
    """
    level_said = _LEVELS.get(level.lower()) if level else _level(words)
    if level_said == Severity.NOTE or level_said == Severity.WARNING:
        return level_said
    heard = by_words(words)
    return heard if level_said is None else max(level_said, heard)


def by_words(words: str) -> Severity:
    """Return how bad the words sound, whatever level their writer gave them."""
    if _FATAL.search(words):
        return Severity.FATAL
    if _HARMLESS.search(words):
        words = _HARMLESS.expression.sub(" ", words)
    if _ERROR.search(words):
        return Severity.ERROR
    return Severity.WARNING if _WARNING.search(words) else Severity.NOTE


def _level(words: str) -> Severity | None:
    words = words.lstrip()
    if _PYTHON.search(words[:400]):
        return Severity.WARNING
    match = _SAID.match(words) or _KEYED.search(words[:400])
    if match is not None:
        return _LEVELS.get(match["word"].lower())
    marked = _MARKED.match(words)
    if marked is not None:
        return _LEVELS.get((marked["word"] or marked["after"] or marked["nccl"]).lower())
    spread = _SPREAD.search(words[:80])
    return _LEVELS[(spread["word"] or spread["dashed"]).lower()] if spread else None
