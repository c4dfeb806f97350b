"""Forms and shorthand: pasted tables and chats as plain lines, and values that their form alone gives away.

A form's dots and bars become colons, what a chat or a shell puts before a line goes; no character moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ..base.quantities import clock, of_clock
from .language import vocabulary
from .language.lexemes import FAINT, GPUS, SAID, WEAK, Reading

_LEADER = re.compile(r"(?m)^([ \t>*-]*[A-Za-z][\w/() -]{0,30}?)[ \t]*(\.{3,}|_{3,})[ \t]*(?=\S)")
_ROW = re.compile(r"(?m)^([ \t]*)\|([^|\n]*)\|([^|\n]*)(?:\|[ \t]*)?$")
_COMPLAINT = re.compile(r"(?m)^[ \t>]*(?:[\w./-]+: (?:error|fatal|warning)|(?:\w+\.)*\w*(?:Error|Exception)): [^\n]*")
_PAIRS = re.compile(r"(?m)(?:^[ \t]*[A-Za-z][\w() -]{0,30}[,;\t][ \t]*[^\s,;][^,;\t\n]*(?:\n|$)){3,}")
_PAIR = re.compile(r"(?m)^([ \t]*[A-Za-z][\w() -]{0,30})[,;\t]")
_HEADS = re.compile(
    r"(?m)^[ \t]*(?:[A-Z][A-Z_/()%:]+[ \t]+){2,}[A-Z][A-Z_/()%:]+[ \t]*$"
)  # of what squeue and sinfo print
_HEADER = re.compile(r"(?i)\A[ \t]*\w+[,;\t][ \t]*values?[ \t]*$", re.M)
_OPEN = re.compile(
    r"(?<!\S)(?:-[ApqtNJ]|--(?:account|partition|qos|time|nodes|job-name))[ \t=]*<[a-z][^<>\n]{0,40}>(?!\S)"
)  # of a command that a document shows
_RULE = re.compile(r"(?m)^[ \t]*\|?(?:[ \t]*:?[-=]{3,}:?[ \t]*\|?)+[ \t]*$|^[ \t]*[-=_*]{4,}[ \t]*$")
_STAMP = re.compile(r"(?m)^[ \t>]*\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\]?(?=[ \t]+<?@?\w[\w .-]{0,20}>?:)|"
                    r"^[ \t]*(?:\(\w+\)[ \t]*)?(?:\[[\w.@:~/ -]{1,40}\]|[\w.-]+@[\w.-]+[:\w/~. -]*|"
                    r"\w[\w.-]*\d[\w.-]*(?:\[\w+\])?(?:\(\d+\))?:?[~/\w.-]*)[ \t]*[$#%](?=[ \t])|"
                    r"^[ \t]*[$%>](?=[ \t]+\w)")  # fmt: skip
_PATCH = re.compile(r"(?m)^--- \S[^\n]*\n\+\+\+ \S|^@@")
_PATCHED = re.compile(r"(?m)^(?:[-+]|@@)[^\n]*")  # of a patch: what goes, and what comes
_SHEBANG = re.compile(r"(?m)^[ \t]*#![ \t]*/[^\n]*")
_LISTED = re.compile(r"(?im)^([ \t]*\"?(?:args|arguments|argv|flags)\"?[ \t]*:)([ \t]*\[[^\]\n]*\],?[ \t]*)$")
_ABOUT = re.compile(r"(?i)(?<=\d)-?ish\b")
_MASK = re.compile(
    r"\b(?:CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES)=[\d,]+[ \t]+(?=[a-z])"
)  # the scheduler's
_HISTORY = re.compile(r"(?m)^[ \t]*\d{1,5}[ \t]{2,}(?=[a-z./])")


def plain_form(text: str) -> str:
    """Return *text* with the lines of forms, tables, chats and shells as plain ones; every character stays in place."""
    text = _ABOUT.sub(_blank, text)
    text = _MASK.sub(_blank, text)
    text = _OPEN.sub(_blank, text)
    if "/" in text:
        text = _with_commas(text)
    if "\n" not in text:
        return text
    text = text.replace("\\,", " ,")  # of a calendar
    if _PATCH.search(text):
        text = _PATCHED.sub(_patched, text)
    text = _LISTED.sub(lambda line: line[1] + re.sub(r"[\[\]\"',]", " ", line[2]), text)
    text = _COMMENTED.sub(_blank, text)
    text = _SHEBANG.sub(_blank, text)
    text = _HEADS.sub(_blank, _COMPLAINT.sub(_blank, text))
    text = _RULE.sub(_blank, text)
    text = _STAMP.sub(_blank, text)
    for key, asks in _QUESTIONS:
        text = asks.sub(partial(_answered, key), text)
    if len(_HISTORY.findall(text)) > 1:
        text = _HISTORY.sub(_blank, text)
    if len(_LEADER.findall(text)) > 1:
        text = _LEADER.sub(lambda line: line.group(1) + _colon(len(line.group()) - len(line.group(1))), text)
    text = _PAIRS.sub(lambda lines: _PAIR.sub(r"\1 ", _HEADER.sub(_blank, lines[0])), text)
    if len(_ROW.findall(text)) > 1:
        text = _ROW.sub(_keyed, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _patched(line: re.Match[str]) -> str:
    """Return a line of a patch as the file has it then: one that goes, and the patch's own, are blank."""
    comes = line[0].startswith("+") and not line[0].startswith("+++")
    return " " + line[0][1:] if comes else " " * len(line[0])


_SPEAKER = r"[ \t]*(?:[>?*-][ \t]*)?(?:<?@?\w[\w.-]{0,20}>?:[ \t]*)?"
_BEGINS = r"(?:(?:no|nope|ok|yes|yeah|fine|so|well|let's say|say)\b,?[ \t]*)?"
_QUESTIONS = tuple(
    (
        key,
        re.compile(
            r"(?im)^%s(?=[^\n]*(?:\?|\b(?:how|what|which)\b))[^:\n]{0,30}?\b(?:%s)\b[^:\n]{0,30}\n%s%s(?=%s)"
            % (_SPEAKER, asks, _SPEAKER, _BEGINS, answer)
        ),
    )
    for key, asks, answer in (
        ("nodes:", r"nodes|chunks", r"\d{1,4}(?![\w:.])"),
        ("gpus:", r"gpus|cards", r"\d{1,4}(?![\w:.])"),
        ("walltime:", r"how long|time(?: limit)?|walltime|hours", r"\d[\w:.]*"),
        ("queue:", r"queue|partition", r"[\w-]+[ \t]*(?:\n|$)"),
        ("account:", r"account|project|allocation", r"[\w-]+[ \t]*(?:\n|$)"),
    )
)


def _answered(key: str, talk: re.Match[str]) -> str:
    """Return a question of a chat, and what stands before its answer, as the key of that answer."""
    return (key + " ").rjust(len(talk.group()))


_UNIT = r"(?:nodes?|gpus?|cards?|n|hrs?|h|hours?|mins?|minutes?|d|days?)"
_NO_UNIT = r"(?!(?:nodes?|gpus?|cards?|tasks?|ranks?|hosts?|hours?|days?|n|gcds?|tiles?|epochs?)\b)"
_LISTED_BY = re.compile(
    r"(?i)(?<=[ \t])/(?=[ \t])(?![ \t]*(?:node|gpu|card|task|rank)s?\b)|"
    r"(?<=\d)[ \t]{0,4}%s/%s(?=[\w-])|(?<=[a-z_])/(?=\d{1,4}[ \t]{0,4}%s\b)" % (_UNIT, _NO_UNIT, _UNIT)
)
_EACH = re.compile(r"(?i)/(?:nodes?|gpus?|cards?|hosts?|hours?|days?|tasks?|ranks?)(?![\w-])")
_CHAIN = re.compile(r"(?<!\S)(?![~./$-])[^\s,;:]+(?!\S)|(?<!\S)(?![~./$-])[^\s,;:]+(?=[,;:])")


def _with_commas(text: str) -> str:
    """Return *text* with commas for the slashes that part amounts: "batch/64 nodes/6 hrs", "2 nodes / gpu / 4 h"."""
    cuts = {match.end() - 1 for match in _LISTED_BY.finditer(text)}
    if not cuts:
        return text
    for chain in _CHAIN.finditer(text):
        places = {at for at in range(chain.start(), chain.end()) if text[at] == "/" and not _EACH.match(text, at)}
        if places & cuts:
            cuts |= places
    return "".join("," if at in cuts else sign for at, sign in enumerate(text))


_PASTED = re.compile(
    r"(?m)^[ \t]*(?:\d{1,5}[ \t]{2,}|[\w.@~:-]{0,40}\$[ \t]+)?(?:#[ \t]?(?:SBATCH|PBS|BSUB)\b|#!|>|"
    r"(?:salloc|sbatch|qsub|idev|interact|srun|ibrun|mpiexec|mpirun|jsrun|torchrun|accelerate|deepspeed)\b"
    r"(?=[^\n]*[ \t]-))[^\n]*"
    r"|^[ \t]*(?:\(\w+\)[ \t]*)?[\w.@~:/-]{0,40}(?:\[[^\]\n]*\])?[ \t]?[$%][ \t]+\S[^\n]*"
)
_COMMENTED = re.compile(r"(?m)^[ \t]*##+[ \t]?(?:SBATCH|PBS|BSUB)\b[^\n]*")


def pasted(text: str) -> list[tuple[int, int]]:
    """Return the characters of pasted lines (directives, commands of a scheduler, quoted mail): older than the rest."""
    spans = [match.span() for match in _PASTED.finditer(text)]
    script = any("#" in text[start : start + 3] for start, _ in spans)  # what is quoted beside one is what is new
    if not script:
        return spans if _PASTED.sub("", text).strip() else []  # a request in one such line is no older than itself
    return [span for span in spans if text[slice(*span)].lstrip()[0] != ">"]


def disowned(text: str) -> list[tuple[int, int]]:
    """Return the characters of pasted directives and commands of which the line before them says not to use them."""
    spans: list[tuple[int, int]] = []
    for start, end in pasted(text):
        above = text[:start].rstrip()
        follows = spans and not text[spans[-1][1] : start].strip()
        if text[start:end].lstrip()[0] != ">" and (follows or _DISOWNED.search(above[above.rfind("\n") + 1 :])):
            spans.append((start, end))
    return [*spans, *(match.span() for match in _DONE.finditer(text))]


_DONE = re.compile(r"(?m)^[ \t]*(?:[-*+][ \t]*)?\[[xX]\][ \t][^\n]*")  # of a list of what is to do
_DISOWNED = re.compile("(?i)" + vocabulary.pattern(vocabulary.texts("clauses")["disowned"]))


def _colon(size: int) -> str:
    return ":" + " " * (size - 1)


def _keyed(row: re.Match[str]) -> str:
    """Return the row of a table of two columns as "key: value"; a blank stands for each bar."""
    lead, key, value = row.groups()
    bare = key.rstrip()
    line = lead + " " + bare + _colon(len(key) - len(bare) + 1) + value
    return line + " " * (len(row.group()) - len(line))


# Values that their form alone gives away, whatever stands around them.

_SHORT = (
    (GPUS, SAID, re.compile(r"(?<![\w-])(?:n?gpus|G)=(?P<n>\d{1,3})(?![\w.:])")),
    ("cpus_per_node", SAID, re.compile(r"(?<![\w-])ncpus=(?P<n>\d{1,4})(?![\w.:])")),
    ("nodes", SAID, re.compile(r"(?<![\w-])(?:N[ \t]?=|[Ss]elect[ \t]?[=:])[ \t]?(?P<n>\d{1,5})(?![\w.:])")),
    ("ranks_per_node", SAID, re.compile(
        r"(?i)(?<![\w-])(?:[tpr]pn|(?:ranks?|tasks?|procs?|processes)(?:/|[ -]per[ -])node)[ \t]?(?:=|:)?[ \t]?"
        r"(?P<n>\d{1,3})(?![\w.:])|(?<![\w.:/-])(?P<m>\d{1,3})[ \t]?"
        r"(?:[tr]pn|(?:[trp]|ranks?|tasks?|procs?|processes)/n(?:odes?)?)\b")),
    ("gpus_per_node", SAID, re.compile(
        r"(?i)(?<![\w-])gpn[ \t]?=?[ \t]?(?P<n>\d{1,2})(?!\w)|(?<![\w.:/-])(?P<m>\d{1,2})[ \t]?gpn\b")),
    ("cpus_per_task", SAID, re.compile(
        r"(?i)(?<![\w.:/-])(?P<n>\d{1,3})[ \t]?cpt\b|\bcpt[ =]?(?P<m>\d{1,3})(?!\w)|"
        r"(?<=[ ,;])c(?P<k>\d{1,3})(?=[ ,;]|$)")),
    ("nodes", SAID, re.compile(r"(?:(?<=[ ,;])|^)N(?P<n>\d{1,5})(?=[ ,;]|$)")),
    ("job_name", WEAK, re.compile(r"(?<![\w-])J[ \t](?P<n>[\w.+-]*\w)")),
    ("job_name", WEAK, re.compile(
        r"(?i)\b(?:give it|with|use|gets?|under) (?:the |a )?name[ \t:]+[\"'`]?(?P<n>[\w.+-]*\w)")),
)  # fmt: skip
_NODES_AND_GPUS = re.compile(
    r"(?i)(?<![\w.-])(?P<nodes>\d{1,4})[ \t]?n[ \t]?(?:[,x/*+ ][ \t]?(?P<gpus>\d{1,2})[ \t]?g(?!\w)(?P<all>[ "
    r"\t]*(?:in )?(?:total|all)\b)?|[x*×][ \t]?(?P<each>\d{1,2})(?![\w.]))"
)
_CLOCKED = re.compile(
    r"(?<![\w:./-])(?:[A-Za-z]{1,10}[ \t]?[=:][ \t]?)?(?P<clock>(?:\d{1,2}-)?\d{1,3}:\d\d:\d\d)(?![\w:.-])"
)
_GRES = re.compile(
    r"(?<![\w:./-])(?P<gpu>(?:[a-z]{1,3}\d{2,3}[a-z]?)(?:[-_]\d{2,3}(?:gb?)?)?):(?P<n>\d{1,3})(?![\w:./-])", re.I
)


def read(text: str) -> Iterator[Reading]:
    """Yield what shorthand says: `N=2`, `4 tpn`, `v100-32:16`, `2n/8g total`, a time of three parts."""
    for name, strength, pattern in _SHORT:
        for match in pattern.finditer(text):
            value = next(group for group in match.groups() if group is not None)
            yield Reading(name, int(value) if value.isdigit() and name != "job_name" else value,
                          match.start(), match.end(), strength)  # fmt: skip
    for match in _CLOCKED.finditer(text):
        seconds = of_clock(match.group("clock"))
        if seconds:
            yield Reading("walltime", clock(seconds), match.start(), match.end(), FAINT)
    for match in _NODES_AND_GPUS.finditer(text):
        name = "gpus_total" if match.group("all") else "gpus_per_node" if match.group("each") else GPUS
        yield Reading("nodes", int(match.group("nodes")), match.start(), match.end())
        yield Reading(name, int(match.group("gpus") or match.group("each")), match.start(), match.end())
    for match in _GRES.finditer(text):
        yield Reading("gpu", match.group("gpu"), match.start(), match.end())
        yield Reading(GPUS, int(match.group("n")), match.start(), match.end())
