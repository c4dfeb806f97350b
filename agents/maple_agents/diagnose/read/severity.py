"""How bad a line sounds: by the level that its writer gave it, else by its words."""

from __future__ import annotations

import re

from ..values import Severity
from .templates import Screened

_FATAL = Screened(
    r"\bKilled\b|\bAborted\b|[Ss]egmentation fault|\bSIGSEGV\b|\bBus error|\bcore dumped\b"
    r"|\bIllegal instruction\b|oom[-_ ]?kill"
    r"|[Oo]ut [Oo]f [Mm]emory:? [Kk]ill|OUT_OF_MEMORY|Floating point exception|terminate called|Fatal Python error"
    r"|\*\*\* (?:JOB|STEP) \S+ |\bCANCELLED (?:AT|DUE)|DUE TO TIME LIMIT|[Ee]xited with (?:exit )?code -?[1-9]"
    r"|\b(?:exit code|exitcode|return code|returncode):? -?[1-9]|exitcode *: -?[1-9]|MPI_A(?:bort|BORT)"
    r"|\*\*\* Process received signal|job killed"
    r"|[Ff]orc(?:e|ing) (?:job )?[Tt]erminat|: Terminated\b|^Terminated\b|: Hangup\b|kernel panic|\bFATAL\b|NODE_?FAIL"
    r"|BAD TERMINATION|EXITING: aborting|ChildFailedError|received signal \d+|\b(?:died|exited) (?:with|from|on) signal"
    r"|KILLED BY SIGNAL|EXIT CODE: [1-9]"
    r"|returned non-zero exit status|exits? with return code = -?[1-9]|non-zero exit (?:code|status)",
)
_ERROR = Screened(
    r"\b[A-Za-z_.]*(?:Error|Exception|Interrupt|ERROR|Failure)\b|\b[Ee]rrors?\b"
    r"|\b[Ff]ail(?:ed|ure|ures|s|ing)?\b|\bFAIL(?:ED|URE)?\b"
    r"|\b[Cc]annot\b|\b[Cc]an't\b|\b[Cc]ould(?: not|n't)\b|\b[Uu]nable to\b|\b[Nn]o such\b|\bnot found\b"
    r"|\b[Dd]enied\b|\b[Rr]efused\b"
    r"|\b[Tt]imed[ -]?out\b|\bundefined symbol\b|\b[Uu]nrecognized\b|\bnot permitted\b|\b[Uu]nsupported\b"
    r"|\b[Aa]bort(?:ed|ing)?\b"
    r"|\bNo space left\b|[Qq]uota exceeded|\breset by peer\b|[Bb]roken pipe|\bunreachable\b"
    r"|[Nn]o route to host|does not exist"
    r"|doesn't exist|\bnot enough\b|[Ii]nsufficient|bad interpreter|\bTraceback\b|\b[Ii]nvalid\b|\bcorrupt"
    r"|\bexceeds?d?\b"
    r"|\bfatal\b|\bassertion\b|out of memory|\bUncorrectable\b|is not a valid\b|not responding|device lost|\bXid\b"
    r"|\bNo module named\b|\bnot known\b"
    r"|\[Errno -?\d|\bnot compatible\b|\bviolates\b|unbound variable|temporarily unavailable|\bnot linked\b"
    r"|\bcontains cr, lf|\b[Ll]oss (?:is|was|became) (?:nan|inf)\b"
)
_WARNING = Screened(
    r"\b[Ww]arn(?:ing|ings|ed)?\b|WARN|Warning\b|[Dd]eprecat|[Tt]ime-?out|[Rr]etry|[Mm]issing|[Mm]ismatch"
    r"|[Uu]nknown|[Uu]nexpected"
    r"|not supported|not available|not set\b|[Ii]gnor(?:ed|ing)|[Ii]ncompatible|[Cc]onflict|must be\b"
    r"|[Rr]equired?\b|too (?:many|few)"
    r"|[Pp]reempt|[Rr]equeue|disconnect|closed|usage:|[Ii]llegal|not allowed|[Dd]eadlock"
    r"|SIG(?:TERM|KILL|HUP|ABRT|BUS)|terminat|[Cc]ancel"
)
# words that sound bad and are none: a metric, a count of none, an option or a name
_HARMLESS = Screened(
    r"\b(?:no|0|zero|without(?: any)?) (?:errors?|failures?|warnings?|exceptions?|failed|corrupt(?:ed)?)\b"
    r"|\b(?:errors?|failed|failures?|exceptions?)\s*[:=]\s*0\b"
    r"|\b(?:mean|squared|absolute|val(?:idation)?|test|train(?:ing)?|relative|rms|reconstruction|prediction"
    r"|word|character|mse|mae|top-?\d)"
    r"[\w ]*[ _]errors?\b|\berrors?(?:[ _](?:rate|norm|bars?))?\s*[:= ]\s*-?\d+\.\d+(?![.\d])|\berror[ _]rate\b"
    r"|[Ee]xit(?:ed)?(?: with)?(?: exit)? ?(?:code|status):? 0\b"
    r"|--[\w-]*(?:error|fail|abort|timeout)[\w-]*"
    r"|\b\w+[_-](?:errors?|fail(?:ed|ure)?|exception|abort|timeout)\b(?=\s*[=:])|[_-]on[_-](?:error|fail)\w*"
    r"|\bignore[_ ]errors?\b|\b(?:errors?|exceptions?)[-_ ]handl\w+|\bon (?:error|failure)\b|\berror_file\b"
    r"|\bif (?:an? )?errors?\b"
    # what was written, and where: a name for what is in it, or for the file
    r"|^\W*(?:saved|wrote|written|exported|uploaded|plotted|dumped)\b(?:(?! (?:but|with|except|after)\b)[^:;!])*$",
    re.I,
)
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
