"""What a request says of a job besides its size, place and program: name, log file, mail, memory, CPUs, variables,
and the job that it waits for.

Each has a form of its own (an address, an amount of memory, NAME=value) and, where that form means other things too, a
word beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..base.secrets.masking import masked
from ..base.secrets.names import is_secret
from .language.lexemes import NAMED, OPTION, WEAK, Reading
from .language.vocabulary import listed, texts
from .language.words import NUMERALS, number, spelt


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern in which every blank stands for one or more."""
    return re.compile(re.sub(r"(?<!\[) (?![*+{])", r"[ \\t]+", re.sub(r"(?<!\[) \?", r"[ \\t]*", pattern)))


_WORDS = texts("particulars")
_NO_NAME = listed(_WORDS["no_name"])
_LINK = r"[\"'*_)]*(?:[ \t]*(?::=|=>|->|→|=|:)|[ \t]+(?:%s)(?![\w.%%/-])){0,7}[ \t]*[\"'`«“]*[ \t]*" % "|".join(
    _WORDS["links"].split()
)
_ADDRESS = _compiled(r"(?<![\w@.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HEADER = _compiled(r"(?im)^[ \t>]*(?:from|to|cc|bcc|reply-to|sender|von|an|de|à|da)[ \t]*:[^\n]*$|<[^<>\s]+@[^<>\s]+>")
_MAILS = _compiled(
    r"(?i)\b(?:e-?mails?|mails?|notif\w*|inform|tell|write|ping|alert|message|contact|send)\b|@\w+ *[(,]"
)
_MAIL_ME = _compiled(r"(?i)\b(?:mail|email|e-mail|notify) me\b")
_OWN_ADDRESS = _compiled(r"(?i)\bmy (?:e-?mail|mail|address)(?: address)?(?: is|:)? *$")
_EVENTS = tuple(
    (
        name,
        _compiled(r"(?i)\b(?:%s)\b|%s" % ("|".join(_WORDS[key].split()), "|".join(_WORDS["chinese_" + key].split()))),
    )
    for name, key in (("BEGIN", "begins"), ("END", "ends"), ("FAIL", "fails"))
)
_SIZE = r"(?P<n>\d+(?:[.,]\d+)?)[ \t]*-?(?P<unit>[kmgt])(?:i?b|ig|igs|bytes?|igabytes?|egabytes?|erabytes?)?(?![\w/])"
_MEMORY_WORD = r"(?:memory|mem|ram)"
_MEMORY = (
    _compiled(r"(?i)\b(?:(?:host|main|system|cpu|node|total|job) )?%s%s%s" % (_MEMORY_WORD, _LINK, _SIZE)),
    _compiled(r"(?i)(?<![\w.-])%s(?:[ \t]+(?:of|from|the|total|host|main|system|cpu"
              r"|node))*[ \t-]+%s\b" % (_SIZE, _MEMORY_WORD)),
    _compiled(r"(?i)(?:^|[,;+|/\n]|\b(?:and|plus|with|give me|gimme|need|want|cores?|cpus?)\b)[ \t]*(?P<alone>%s)[ \t]*"
              r"(?=[,;.)+|/\n\d§]|$|and\b|please\b|pls\b)" % _SIZE),
)  # fmt: skip
_PER_PART = _compiled(r"(?i)[ \t]*(?:per|/|each|for each|a)[ \t]*(?:cpu|core|gpu|card|task|process|rank)")
_OF_VIDEO = _compiled(r"(?i)\b(?:gpu|video|v|device|card)[ -]?$")
_CORES = r"(?:(?:physical|cpu|host)[ -])?(?:cpus?|cores?|cpu[ -]cores?|threads)"
_PER_TASK = (
    r"[ \t]*(?:per|by|/|a|for each|each|for every|pro|par|por)[ \t]*(?:mpi )?(?:task|process|proc|rank|worker|gpu)"
)
_NUMBER = r"(?<![\w.:-])(?P<n>\d{1,4}|%s)" % "|".join(word for word in NUMERALS if word not in ("zero", "dozen"))
_CPUS = (
    _compiled(
        r"(?i)\b(?P<per>(?:per|each|every|pro|par|por) (?:mpi )?(?:task|process|proc|rank|worker)) ?[,:]? ?"
        r"%s[ \t-]*%s(?![\w-])" % (_NUMBER, _CORES)
    ),
    _compiled(r"(?i)%s[ \t-]*%s(?P<per>%s)?(?![\w-])(?![ \t]*(?:-hour|hours?))" % (_NUMBER, _CORES, _PER_TASK)),
    _compiled(r"(?i)\b%s(?P<per>%s)%s%s(?![\w.])" % (_CORES, _PER_TASK, _LINK, _NUMBER.replace(r"(?<![\w.:-])", ""))),
    _compiled(r"(?i)(?:^|[,;(\n])[ \t]*%s[ \t]*[:=][ \t]*(?P<n>\d{1,4})(?![\w.])" % _CORES),
    _compiled(r"(?i)(?:^|[,;(\n])[ \t]*%s[ \t](?P<n>\d{1,4})(?=[ \t]*(?:[,;)\n]|\.\s|\.?$))" % _CORES),
)
_NAME_CUES = (
    _compiled(r"(?i)\b(?:job(?: |-|_)?name|name (?:of|for) (?:the|this|my) job|(?:name|call) (?:it|the job|this job"
              r"|this one|this)|"
               r"job (?:is |should be |be |to be )?(?:called|named)|jobs? called)%s(?P<name>[\w.+-]*\w)" % _LINK),
    _compiled(r"(?i)(?:^|[,;(\n|])[ \t*-]*(?:and )?named?[ \t]*(?:->|[:=])?[ \t]*[\"'`«“]*[ \t]*(?P<name>[\w.+-]*\w)"),
)  # fmt: skip
_FILE = r"(?P<file>(?:[~$.]?\.?/|[\w{}$%+-])[\w./%+{}$-]*)"
_OUTPUT = _compiled(
    r"(?i)\b(?:(?:std)?out(?:put)?(?: ?file)?|(?:the )?(?:standard )?outputs?|logs?(?: ?file)?"
    r"|logging)(?![\w./%%-])(?: and (?:stderr|errors?))?"
    r"%s%s" % (_LINK, _FILE))  # fmt: skip
_INTO = _compiled(
    r"(?i)(?:stdout|output|logs?(?: ?files?)?)(?:\s+(?:should|must|has to|to))?(?:\s+go(?:es)?)?"
    r"\s+(?:in|to|into|under)\b"
)
_LOG_FORM = _compiled(r"[^\s]*(?:%[jJxAaN]|\.(?:out|log|txt|err|o))[\w.%]*$")
_VARIABLE = _compiled(
    r"(?<![\w$/.-])(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|(?<=export[ ])[A-Za-z_]\w*)=(?P<value>\"[^\"\n]*\""
    r"|'[^'\n]*'|(?P<shell>[^\s;，]*(?:\$\([^\n]*?\)+|`[^`\n]*`))|[^\s;，]*[^\s;，,.)!?])"
)
_VARIABLE_TO = _compiled(
    r"(?<![\w$/.-])(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[ \t]+(?:(?:must |should |has to )?(?:be )?(?:set )?to"
    r"|should be|should|on|must be|is|at)[ \t]+(?P<value>[\w./$:{}+-]*\w)(?![\w=])"
)
_EXPORT = _compiled(r"(?:\bexport[ \t]+|\bsetenv[ \t]+)$")
_AFTER = (
    _compiled(r"(?i)\b(?P<how>after(?:ok|any|notok|corr)?)(?::|(?<=ok|ny|rr)[ \t:]+(?=\d{3}))"
              r"(?P<ids>\d+(?:\[\])?(?:\.[\w.-]+)?(?::\d+(?:\.[\w.-]+)?)*)"),
    _compiled(
        r"(?i)\b(?:after|once|when|following|behind|depend(?:s|ing|ent)? (?:up)?on|dependency(?: on|:)?"
        r"|waits? (?:for|on|until)|waiting for)"
        r"(?: (?:successful |the )?(?:completion|end|success) of)?(?: (?:my|the|our|previous|job|jobid|id|number"
        r"|nr))*[ \t:#]*(?P<ids>\d{3,9})(?![\w.:-])"
        r"(?P<behind>[^.;,\n]{0,40})"),
    _compiled(r"(?i)\bjob[ #:]*(?P<ids>\d{3,9})(?P<behind>) ?afterwards\b"),  # as Japanese says it
)  # fmt: skip


_SPELT = "|".join((*NUMERALS, "hundred", "thousand"))
_SPELT_AMOUNT = re.compile(
    r"(?i)(?<![\w-])(?:a )?(?:%s)(?:[ -](?:and[ -])?(?:%s)){0,5}"
    r"(?=[ -](?:gb|gib|gigs?|gigabytes?|tb|tib|terabytes?|cpus?|cores?|threads)\b)" % (_SPELT, _SPELT)
)


def _in_digits(text: str) -> str:
    """Return *text* with amounts of memory and CPUs in digits, "hundred gigabyte"; every character stays in place."""

    def digits(words: re.Match[str]) -> str:
        spelt_out = words[0].lower().replace("-", " ").split()
        read = number(["a", *spelt_out] if spelt_out[0] in ("hundred", "thousand") else spelt_out)
        return str(read[0]).ljust(len(words[0])) if read is not None else words[0]

    return _SPELT_AMOUNT.sub(digits, text)


def read(text: str) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Return what an English *text* says of these, and the characters that say it."""
    text = _in_digits(text)
    readers = (_mail, _memory, _cpus, _variables, _dependency, _names, _output)
    readings = [reading for reader in readers for reading in reader(text)]
    headers = [match.span() for match in _HEADER.finditer(text) if "@" in match.group()]
    headers += [match.span() for match in re.finditer(r"(?m)^[ \t]*#!/[^\n]*", text)]
    taken = [(reading.start, reading.end) for reading in readings if reading.name != "mail_on"]
    events = [
        span
        for reading in readings
        if reading.name == "mail_on"
        for span in _event_words(text, reading.start, reading.end)
    ]
    return readings, [*taken, *events, *headers]


def _event_words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the events stand between two characters; what stands between them may be anything."""
    return [match.span() for _, pattern in _EVENTS for match in pattern.finditer(text, start, end)]


def _mail(text: str) -> Iterator[Reading]:
    """Yield the address that mails go to, and when they are sent. The addresses of a pasted mail's head are none."""
    heads = [match.span() for match in _HEADER.finditer(text)]
    addresses = list(_ADDRESS.finditer(text))
    if len(addresses) == 1 and _MAIL_ME.search(text[: addresses[0].start()] + text[addresses[0].end() :]):
        yield Reading("mail", addresses[0].group(), *addresses[0].span())
    for match in addresses:
        if any(start <= match.start() < end for start, end in heads):
            continue
        first, last = _around(text, match.start(), match.end())
        sentence = text[first:last]
        if _OWN_ADDRESS.search(text[first : match.start()]):
            continue  # who somebody is, not whom to tell
        if _MAILS.search(sentence.replace(match.group(), " ")) or _events(sentence.replace(match.group(), " ")):
            events = _events(sentence.replace(match.group(), " "))
            start, end = _with_events(text, match)
            yield Reading("mail", match.group(), match.start(), match.end())
            if events:
                yield Reading("mail_on", events, start, end)


_NEAR = 40  # characters between an address and the words that say when


def _with_events(text: str, address: re.Match[str]) -> tuple[int, int]:
    """Return where the address and the events beside it begin and end: "fails" is no earlier job there."""
    first, last = _around(text, address.start(), address.end())
    first, last = max(first, address.start() - _NEAR), min(last, address.end() + _NEAR)
    events = [match for _, pattern in _EVENTS for match in pattern.finditer(text, first, last)]
    return min([address.start(), *(match.start() for match in events)]), max(
        [address.end(), *(match.end() for match in events)]
    )


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence or line begins and ends that holds the characters from *start* to *end*."""
    breaks = [match.end() for match in re.finditer(r"\n|(?<=[.;!?])\s", text)]
    return max((at for at in breaks if at <= start), default=0), min(
        (at for at in breaks if at > end), default=len(text)
    )


def _events(words: str) -> str:
    return ",".join(name for name, pattern in _EVENTS if pattern.search(words))


def _memory(text: str) -> Iterator[Reading]:
    taken: list[tuple[int, int]] = []
    for at, pattern in enumerate(_MEMORY):
        for match in pattern.finditer(text):
            if at == 2 and match.group("unit") in "mkMK" and not match.group("alone").lower().endswith("b"):
                continue  # "90m" is a time
            start, end = match.span("alone") if at == 2 else match.span()
            tail = _PER_PART.match(text, end)
            if any(first < end and start < last for first, last in taken) or _OF_VIDEO.search(text[:start]) or tail:
                continue
            taken.append((start, end))
            value = _size(match.group("n"), match.group("unit"))
            if value:
                yield Reading("memory", value, start, end, WEAK if at == 2 else NAMED)


def _size(number: str, unit: str) -> str:
    """Return an amount as Slurm and PBS take it, in whole units; "" for one of no megabyte."""
    amount = float(number.replace(",", "."))
    letters = "KMGT"
    at = letters.index(unit.upper())
    while amount != int(amount) and at:
        amount, at = amount * 1024, at - 1
    return "%d%s" % (amount, letters[at]) if amount >= 1 and at else ""


def _cpus(text: str) -> Iterator[Reading]:
    taken: list[tuple[int, int]] = []
    for pattern in _CPUS:
        for match in pattern.finditer(text):
            if any(first < match.end() and match.start() < last for first, last in taken):
                continue
            taken.append(match.span())
            word = match.group("n").lower()
            number = int(word) if word.isdigit() else NUMERALS[word]
            per = match.groupdict().get("per")
            if number and not text[match.end() :].lower().startswith((" hour", "-hour")):
                yield Reading("cpus_per_task" if per else "cpus_per_node", number, match.start(), match.end())


def _variables(text: str) -> Iterator[Reading]:
    for pattern in (_VARIABLE, _VARIABLE_TO):
        for match in pattern.finditer(text):
            name, value = match.group("name"), match.group("value")
            if spelt(name.lower()) or name.startswith(("SLURM_", "PBS_")) or is_secret(name) or masked(value) != value:
                continue  # a script is stored and shown: what opens something is not written into it
            start = match.start()
            export = _EXPORT.search(text[:start])
            start = export.start() if export else start
            shell = match.groupdict().get("shell")  # what a command prints is no value that anybody said
            yield Reading(OPTION if shell else "variables", "%s=%s" % (name, value), start, match.end())


def _dependency(text: str) -> Iterator[Reading]:
    for match in _AFTER[0].finditer(text):
        yield Reading(
            "dependency", "%s:%s" % (match.group("how").lower(), match.group("ids")), match.start(), match.end(), NAMED
        )
    for match in (match for pattern in _AFTER[1:] for match in pattern.finditer(text)):
        behind = match.group("behind").lower()
        if re.match(
            r"\s*(?:%|steps?|epochs?|iterations?|samples?|hours?|minutes?|seconds?|s\b|gpu|node|gb|it |more)", behind
        ):
            continue
        how = "afterany" if re.search(r"either way|regardless|even if|whatever|no matter|any", behind) else "afterok"
        if re.search(r"\bfails?\b|failed", behind) and how == "afterok":
            how = "afternotok"
        state = re.match(r"\s*(?:has |is |it )?(?:done|ends?|finish\w*|complet\w*|succe\w*|fail\w*|over|ok)\b", behind)
        end = match.end("ids") + (state.end() if state else 0)
        yield Reading("dependency", "%s:%s" % (how, match.group("ids")), match.start(), end)


def _names(text: str) -> Iterator[Reading]:
    for pattern in _NAME_CUES:
        for match in pattern.finditer(text):
            name = match.group("name")
            if name.lower() not in _NO_NAME and not name.endswith((".py", ".sh")):
                yield Reading("job_name", name, match.start(), match.end())


def _output(text: str) -> Iterator[Reading]:
    for match in _OUTPUT.finditer(text):
        file = match.group("file").rstrip(".")
        folder = file.endswith("/")
        into = folder and _INTO.match(match[0]) is not None
        if _LOG_FORM.search(file) or "/" in file and "." in file.rpartition("/")[2] and not folder or into:
            yield Reading("output", file, match.start(), match.start("file") + len(file))
