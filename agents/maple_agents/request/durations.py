"""Times in words -> HH:MM:SS, and whether the walltime is meant: "12 hours", "1d6h", "half an hour", "01:30:00"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..base.quantities import clock, of_clock
from ..base.slots import Missing
from .clauses import asides
from .language.lexemes import FAINT, NAMED, OPEN, SAID, WEAK, Line, Reading
from .language.vocabulary import listed, pattern, texts
from .language.words import CLOCK, NAME, NUMBER, SIGN, Token, joint, merged

_WORDS = texts("durations")
DURATION = "DUR"
_SECONDS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
_SHARES = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "halves": 1 / 2, "thirds": 1 / 3, "quarters": 1 / 4}
_SHARE = re.compile(
    r"(?:(?P<many>\d+) |a )?(?P<share>%s)(?: of)?(?: (?:an?|the|1))? (?:full |whole )?(?P<unit>hour|day|week)\b"
    % "|".join(_SHARES)
)
_ONE = re.compile(r"(?:(?P<bare>an?)|(?:an?|the) (?:full|whole)) (?P<unit>hour|day|week)\b")
_NAMES = pattern(_WORDS["names"])
_LINK = pattern(_WORDS["link"])
_MOST = pattern(_WORDS["most"])
_BEFORE_POISON = pattern(_WORDS["before_poison"])
_AFTER_POISON = pattern(_WORDS["after_poison"])
_BEFORE = listed(_WORDS["before"])
_AFTER = listed(_WORDS["after"])
_VALUE_BEFORE = listed(_WORDS["value_before"])
_LISTED = listed(_WORDS["listed"])


def timed(words: Sequence[Token]) -> list[Token]:
    """Return the words with every duration as one word `DUR`, whose text is its seconds."""
    return merged(words, _timed)


def _timed(words: Sequence[Token], at: int) -> tuple[int, Token]:
    seconds, taken = _clocked(words, at) or _duration(words, at)
    return taken, joint(DURATION, str(seconds), DURATION, words[at : at + (taken or 1)])


def _clocked(words: Sequence[Token], at: int) -> tuple[int, int] | None:
    """Return the seconds of "3:30 hours" and its two words; None for anything else."""
    follows = [word.lex for word in words[at + 1 : at + 2]] == ["hour"]
    match = re.fullmatch(r"(\d+):(\d+)", words[at].text) if follows and words[at].kind == CLOCK else None
    return (int(match[1]) * 3600 + int(match[2]) * 60, 2) if match else None


def _duration(words: Sequence[Token], at: int) -> tuple[int, int]:
    """Return the seconds of the duration that begins at a word, and how many words it takes; (0, 0) for none."""
    ahead = " ".join(word.lex for word in words[at : at + 7])
    if share := _SHARE.match(ahead):
        many = int(share["many"] or 1) * _SHARES[share["share"]]
        return int(many * _SECONDS[share["unit"]]), share[0].count(" ") + 1
    if single := _ONE.match(ahead):
        long = single[0].count(" ") + 1
        part, more = _fraction(words, at + long) if single["bare"] else (0.0, 0)
        repeats = not more and single["bare"] and single["unit"] != "hour" and _repeats(words, at)
        return (0, 0) if repeats else (int(_SECONDS[single["unit"]] * (1 + part)), long + more)
    seconds, taken, unit = 0, 0, 10**9
    while True:
        here = at + taken
        skip = 1 if taken and here < len(words) and words[here].lex in ("and", ",") else 0
        amount, used, this = _amount(words, here + skip)
        if not used or this >= unit:
            bare = _bare_minutes(words, here) if unit == _SECONDS["hour"] and taken < 3 else 0
            return (seconds + 60 * bare, taken + 1) if bare else (seconds, taken)
        seconds, taken, unit = seconds + amount, taken + skip + used, this


def _bare_minutes(words: Sequence[Token], at: int) -> int:
    """Return the minutes of "2 h 45": two digits behind the hours, and the item ends there."""
    at += at + 1 < len(words) and words[at].lex == "and"
    ends = at + 1 >= len(words) or words[at + 1].kind == SIGN
    number = words[at].text if at < len(words) and words[at].kind == NUMBER else ""
    return int(number) if ends and re.fullmatch(r"[0-5]\d", number) else 0


def _repeats(words: Sequence[Token], at: int) -> bool:
    return at > 0 and words[at - 1].lex in ("times", "twice", "once", "hour", "gpu", "node", DURATION)


def _amount(words: Sequence[Token], at: int) -> tuple[int, int, int]:
    """Return seconds, words taken and the unit's seconds of a number with its unit: "2 hour", "2 and a half day"."""
    if at >= len(words) or words[at].kind != NUMBER:
        return 0, 0, 0
    value = _float(words[at].lex)
    lexes = [word.lex for word in words[at + 1 : at + 4]]
    half = 4 if lexes == ["and", "a", "half"] else 3 if lexes[:2] == ["and", "half"] else 0
    dash = lexes and words[at + 1].text == "-" and words[at + 1].glued
    extra = half or (2 if dash else 1)
    extra += [word.lex for word in words[at + extra : at + extra + 1]] == ["full"]
    word = words[at + extra] if at + extra < len(words) else None
    unit = _unit(word) if word is not None else 0
    if value is None or not unit:
        return 0, 0, 0
    part, more = (0.5, 0) if half else _fraction(words, at + extra + 1)
    return int(round((value + part) * unit)), extra + 1 + more, unit


def _fraction(words: Sequence[Token], at: int) -> tuple[float, int]:
    """Return what is added behind a unit, and its words, (0, 0) for none: "and a half", "and three quarters".

    Without an article it ends the item: "4 hours and half the GPUs" adds nothing.
    """
    lexes = [word.lex for word in words[at : at + 3]] + ["", "", ""]
    if lexes[0] != "and":
        return 0.0, 0
    if lexes[2] in _SHARES and lexes[1] in ("a", "1", "3"):
        return _SHARES[lexes[2]] * (3 if lexes[1] == "3" else 1), 3
    ends = at + 2 >= len(words) or words[at + 2].kind == SIGN or lexes[2] in _FRACTION_ENDS
    return (_SHARES[lexes[1]], 2) if lexes[1] in _SHARES and ends else (0.0, 0)


_FRACTION_ENDS = ("for", "on", "with", "using", "at", "please", "in", "under")


def _unit(word: Token) -> int:
    if word.text in ("m", "s"):
        return {"m": 60, "s": 1}[word.text] if word.glued else 0
    return _SECONDS.get(word.lex, 0) if word.text != "second" else 0


def _float(text: str) -> float | None:
    try:
        return float(text) if len(text) < 9 else None
    except ValueError:
        return None


def read(line: Line) -> Iterator[Reading]:
    """Yield the walltimes of a request; a duration that is something else (an interval, an age) is none."""
    taken: set[int] = set()
    for match in line.find(
        r"(?:%s|time|limit (?:it|this|the job|the run))%s(?: %s)? (?P<value>DUR|\S*\d:\d\d\S*"
        r"|\d+)" % (_NAMES, _LINK, _MOST)
    ):
        first, last = line.group(match, "value")
        word = line.words[last]
        if " take " in match.match.group() or match.match.group().startswith("time ") and " a " in match.match.group():
            continue
        taken.add(last)
        yield from _named(word, line.words[match.first].start, line.before(match.first), line.after(last))
    for match in line.find(_KEYED):
        last = line.group(match, "value")[1]
        length = int(line.words[last].lex) * (60 if match.groups["minutes"] else 3600)
        yield Reading("walltime", clock(length), line.words[match.first].start, line.words[last].end, NAMED)
    for at, word in enumerate(line.words):
        if at in taken or word.kind not in (DURATION, CLOCK):
            continue
        seconds = int(word.text) if word.kind == DURATION else of_clock(word.text)
        anew = re.search(_CORRECTING, line.before(at, 7))
        how = FAINT if _taken(line, at) and not anew else _meant(line, at, word)
        if seconds and how is not None:
            yield Reading("walltime", clock(seconds), word.start, word.end, how)


def _named(word: Token, start: int, before: str, after: str) -> Iterator[Reading]:
    if word.kind == DURATION and int(word.text):
        yield Reading("walltime", clock(int(word.text)), word.start, word.end, NAMED)
    elif word.kind == CLOCK:
        nought = re.fullmatch(r"00?:([1-5]\d)", word.text)  # 45 seconds are no job
        seconds = 60 * int(nought[1]) if nought else of_clock(word.text)
        if seconds:
            yield Reading("walltime", clock(seconds), word.start, word.end, NAMED)
        elif ":" in word.text:
            says = "%r may be hours and minutes or minutes and seconds; say it as HH:MM:SS" % word.text
            yield Reading(OPEN, says, start, word.end)


def _how(line: Line, at: int) -> int:
    after, before = line.after(at, 3), line.before(at, 4)
    named = re.match(r" (?:of )?(?:%s|limit|maximum|long|total)\b" % _NAMES, after) or re.search(
        r"(?:%s) (?:of )?(?:about )?$" % _MOST, before
    )
    return SAID if named else WEAK


_KILLED = (
    r" (?:kill|stop|end|cancel|terminate|abort|cut|finish) (?:(?:it|this|that|the|job|run|off) "
    r"){0,3}(?:after|at|within) $"
)
_TAKES = (
    r" (?:it|job|run|training|this|that|script|program|everything|all|whole) (?:\w+ ){0,2}(?:take"
    r"|takes|needs|lasts|runs)(?: (?:for|about|around|approximately|roughly|maybe|probably|up to|some)){0,2} $"
)


def _taken(line: Line, at: int) -> bool:
    """Tell whether somebody says how long the job takes ("it takes 6 hours"): the walltime, where no other is said."""
    ends = re.match(r" (?:[.,;:)]|$|and |so |on |with )|\s*$", line.after(at, 2))
    return bool(
        ends and re.search(_TAKES, line.before(at, 7)) and not re.search(r"\bepoch|\bstep|\bevery", line.before(at, 7))
    )


def _meant(line: Line, at: int, word: Token) -> int | None:
    """Return how surely a duration is how long the job may run, None where it is something else."""
    before, after = line.before(at, 4), line.after(at, 4)
    if re.search(_GIVEN, line.before(at, 8)):
        return FAINT
    if re.search(_KILLED, before):
        return SAID
    if re.search(_ONE_PART, line.before(at, 6)):
        return None
    if re.search(_LONGER, line.before(at, 7)) and not re.search(_OF_A_PART, line.before(at, 9)):
        return None if re.match(r" (?:of|interval|timeout|%s)\b" % _AFTER_POISON, after) else SAID
    if re.search(r" (?:%s) $" % _MOST, before):
        return None if re.match(r" (?:of|interval|timeout|%s)\b" % _AFTER_POISON, after) else _how(line, at)
    if re.match(r" (?:of )?(?:%s|time limit|limit)\b" % _NAMES, after):
        return _how(line, at)
    if re.search(_OF_ANOTHER, before):
        return None
    if re.match(r" long (?:[.,;)]|and|on|$)", after):
        return SAID
    plain = re.sub(
        r"(?: (?:about|around|approximately|roughly|some|the|last|a|another|full|maybe|say|~)){1,4} $", " ", before
    )
    granted = re.search(_GRANTS, before) or re.search(_DONE_IN, before)
    if not granted and (re.search(r" (?:last|another) $", before) or re.search(r" %s $" % _BEFORE_POISON, plain)):
        return None
    if re.match(r" %s\b" % _AFTER_POISON, after):
        return None
    named = at + 1 < len(line.words) and line.words[at + 1].kind == NAME
    if _fits(plain, after, named):
        return _how(line, at)
    if granted or re.search(_CORRECTING, line.before(at, 7)):
        return WEAK
    return FAINT


_ONE_PART = (
    r" (?:an?|one|each|every|per|the) (?:epoch|step|iteration|eval|evaluation|checkpoint|validation)"
    r"(?: (?:take|takes|need|needs|last|lasts|is|of|about|around|roughly|some)){0,3} $"
)
_OF_ANOTHER = (
    r" (?:warm ?up|interval|timeout|delay|epoch|period|age|sleep|gap|drive|flight|pause|break"
    r"|window|lag) (?:of|is|:|=) (?:about )?$"
)
_GIVEN = (
    r" (?:which|that|queue|partition|qos|there|it) (?:\w+ )?(?:allow|allows|give|gives|permit|permits|goes|lets)"
    r"(?: (?:you|us|me|one|jobs?|runs?|for|up|to|at|most|maximum|run|about)){0,5} (?:an? )?$"
)  # what a place gives is no wish
_DONE_IN = (
    r" (?:done|finished|finishes|finish|complete|completed|completes|ready|over|by) (?:in |within "
    r")?(?:about |under |the )?$"
)
_KEYED = (
    r"(?:hour|time in hour|time \( hour \)|walltime \( hour \)|time hour|(?P<minutes>minute|time in minut"
    r"e)) (?::|=) (?P<value>\d+)"
    r"(?= (?:[.,;|)§]|[a-zA-Z]\S* [:=])|\s*$)"
)
_CORRECTING = r" (?:actually|sorry|wait|make (?:that|it)|rather|i mean|correction) [^.;]*$"
_GRANTS = r" (?:let 's|let's|we|i|'ll|please|should) (?:just )?take (?:about |the )?$"


# What the job needs at least, and what it may take at most: where the two exclude each other, somebody has to say.

_LEAST = r" (?:at least|no less than|not less than|minimum of|minimum|needs|need) $"
_LONGER = r" (?:not|n't|'t|never|no|cannot) (?:\w+ ){0,3}(?:longer|more) than $"
_KNOWS_NOT = (
    r"(?:(?:don|doesn|didn|couldn|can|not|no|never|have no|has no)(?: 't)?|dont|cant|hard to) (?:\w+ ){0,"
    r"3}(?:know|knows|idea|sure"
    r"|clue|tell|told|say|certain|estimate|guess)|unknown|unclear|unsure|tbd|undecided|whatever|no idea"
)
_TIME = r"(?:how long|how much time|how many hour|time|walltime|runtime|duration|long it)"


def doubts(line: Line, readings: Mapping[str, Reading]) -> Iterator[Missing]:
    """Yield the question for the time where it is said to be unknown, or what it takes and may take exclude each other.

    *readings*: what was chosen.
    """
    reading = readings.get("walltime")
    least, most = _bounds(line)
    chosen = of_clock(str(reading.value)) or 0 if reading is not None and reading.strength > FAINT else 0
    low, high = max([*least, chosen]), min([*most, chosen or most[0]]) if most else 0
    if high and low > high:
        says = "%s and %s are said, and both cannot be" % (clock(low), clock(high))
        yield Missing("walltime", says, (clock(high), clock(low)))
    elif reading is not None and (other := _said_anew(line, chosen, reading.start)):
        says = "%s and %s are said; say which holds" % (clock(chosen), clock(other))
        yield Missing("walltime", says, (clock(other), clock(chosen)))
    elif reading is None and _is_unknown(line):
        yield Missing("walltime", "the request says that the time is not known; say how long it may run")


_ANEW = (
    r" (?:only|needs|need|full|just|actually|wait|rather|must|total)"
    r"(?: (?!each|every|per|epoch|after|last|ago)[a-z']+){0,2} $"
)
_OF_A_PART = r"\b(?:epoch|step|iteration|every|each|checkpoint|save|eval)"


def _said_anew(line: Line, chosen: int, start: int) -> int:
    """Return a second time that somebody insists on ("wait no it only needs 30 hours"), 0 where there is none."""
    aside = asides(line)
    for at, word in enumerate(line.words):
        if word.kind != DURATION or aside[at] or word.start < start or int(word.text) in (0, chosen) or not chosen:
            continue
        if re.search(_OF_A_PART, line.before(at, 7)):
            continue
        if re.search(_ANEW, line.before(at, 4)) and not re.match(r" %s\b" % _AFTER_POISON, line.after(at, 3)):
            return int(word.text)
    return 0


def _bounds(line: Line) -> tuple[list[int], list[int]]:
    """Return the seconds that the job takes at least, and those that it may take at most."""
    least, most = [0], []
    for at, word in enumerate(line.words):
        if word.kind != DURATION:
            continue
        before = line.before(at, 6)
        if re.search(_LEAST, before) or _taken(line, at):
            least.append(int(word.text))
        elif re.search(_LONGER, before):
            most.append(int(word.text))
    return least, most


def _is_unknown(line: Line) -> bool:
    near = r"(?: (?![.;] )\S+){0,6}? "
    asked = any(
        word.text == "?" and re.search(r" (?:time|walltime|hour|duration|long) (?:[:=|-] )*$", line.before(at, 4))
        for at, word in enumerate(line.words)
    )
    either = r"for a while|(?:more|fewer|less|as many) (?:hour|minute|day|time) (?:than|as)|(?:%s)%s%s|%s%s(?:%s)" % (
        _KNOWS_NOT,
        near,
        _TIME,
        _TIME,
        near,
        _KNOWS_NOT,
    )
    return asked or next(line.find(either), None) is not None


def _fits(before: str, after: str, named: bool) -> bool:
    left, right = (
        before.split(),
        [] if named or before.split()[-1:] and before.split()[-1] in _LISTED else after.split(),
    )
    of_key = len(left) > 1 and left[-2] in _VALUE_BEFORE  # "account abc123 3h", "partition = ai 3h"
    return (not left or left[-1] in _BEFORE or left[-1].isdigit() or of_key) and (
        not right or right[0] in _AFTER or right[0].isdigit() or right[0].isupper()
    )
