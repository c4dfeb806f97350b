"""What of a request stands in no slot, and may not be passed over in silence.

A word stops the script where it is a name of this site, an option, a path or a variable, or a number of what nobody
has read a number of: somebody meant it. What is told and goes on: every other number, names of software, words such as
"mail" that no slot takes, and whatever has weight and speaks of an earlier job or another machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.site.facts import Site

from ..base.quantities import clock
from ..base.slots import Missing, Slot, Slots, Unread
from .clauses import asides
from .language.lexemes import Line
from .language.vocabulary import listed, table, texts
from .language.words import NAME, NUMBER, SIGN, WORD, Token
from .site_names import of_files
from .surroundings import SOFTWARE

_WORDS = texts("unread")
FILLERS = listed(texts("words")["fillers"])
_WEIGHTY, _EVERYDAY = listed(_WORDS["weighty"]), listed(_WORDS["everyday"])
_PLACE_WORDS, _ENDS = listed(_WORDS["place_words"]), listed(_WORDS["ends"])
_APART, _LEADS_TO, _PROSE, _UNITS = (listed(_WORDS[name]) for name in ("apart", "leads_to", "prose", "units"))
_LED = listed(_WORDS["led"])  # also prose ("debug output"), but a place where "in" leads to it
_GOES_ON = listed(_WORDS["goes_on"])
_DENIALS, _COUNTED, _LEADS, _WAITS, _LENGTHS, _OF_TIME, _FRACTIONS = (
    listed(_WORDS[name]) for name in ("denials", "counted", "leads", "waits", "lengths", "of_time", "fractions")
)
_ADJECTIVES = listed(texts("places")["stop"]) | listed(texts("places")["common_before"])
_WHERE = listed(_WORDS["where"])
_HARMLESS = listed(_WORDS["harmless"])
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?=\s|=|$)")
_PLACE = re.compile(r"(?:~|\.{1,2})?/[\w.~/-]*\w|\$\{?\w+.*|[\w.+-]+@[\w.-]+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")  # of the environment
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")  # nobody writes prose so
_LOG_FILE = re.compile(r"%[jJxAaNn]\b")
_OF_A_MODEL = re.compile(r"\d{1,4}(?:\.\d{1,2})?[bB]")
DURATION = "DUR"
_SLOT_OF = table(_WORDS["slot_of_number"])
_ALIKE = {"gpus_per_node": ("gpus_per_node", "gpus_total"), "ranks_per_node": ("ranks_per_node", "gpus_per_node")}
_SLOTS_OF = {word: tuple(slots.split()) for word, slots in table(_WORDS["slots_of_word"]).items()}


class Left(NamedTuple):
    """A word that no reading used. *lex*: as the grammar knows it, "" of a reading that was outdone; *near*: it and the
    word that makes it plain, as written.

    *before*, *behind*: up to three words beside it, as the grammar knows them, in their order.
    *denied*: "not", "instead of" stand before it. *value*: in normal form. *aside*: it speaks of another job, or was
    read and outdone: told, and never taken.
    """

    text: str
    lex: str
    start: int
    end: int
    near: str
    before: tuple[str, ...]
    behind: tuple[str, ...]
    number: bool = False
    denied: bool = False
    value: str = ""
    aside: bool = False


class Asked(NamedTuple):
    """What a request says.

    *slots*: only what stands there, each with the characters it was read from; `gpu`, `partition`, `queue` and `qos`
    as said until `resolve` gives them the site's own names. *contradictions*: one clear line each. *wishes*: those of
    `templates/words/phrases.toml`, and `RANK_A_GPU`. *rest*: the words that were not understood. *ranks*: of the whole
    job, where they were said.
    *gpu_kinds*: the node kinds of the site that fit the GPU said, where they are several (`resolve`).
    *gpus_open*: nobody said whether the GPUs are a node's or the job's. *left*: the words that
    no reading used. *doubts*: slots that are spoken of and have no one value ("4 nodes", "2 nodes"; "I don't know how
    long"): each is asked for. *doubted*: each of several values of such a slot.
    *undescribed*: a cluster that is named and that no file describes, and the complaint of that.
    """

    slots: Slots
    contradictions: tuple[str, ...] = ()
    wishes: frozenset[str] = frozenset()
    rest: str = ""
    ranks: int | None = None
    gpu_kinds: tuple[str, ...] = ()
    gpus_open: bool = False
    left: tuple[Left, ...] = ()
    doubts: tuple[Missing, ...] = ()
    doubted: tuple[Slot, ...] = ()
    undescribed: tuple[str, str] | None = None


def left(line: Line, spans: Sequence[tuple[int, int]]) -> tuple[Left, ...]:
    """Return the words of the line that stand in none of *spans*; what dashes join is one word: "RM-shared"."""
    covered = bytearray(len(line.written) + 1)
    for start, end in spans:
        covered[start:end] = b"\1" * (end - start)
    aside, whole = asides(line), _whole(line, covered)
    return tuple(
        _left(whole, at)._replace(aside=aside[line.word_at(word.start)])
        for at, word in enumerate(whole.words)
        if not covered[word.start] and (word.kind != SIGN or word.lex == DURATION)
    )


def _whole(line: Line, covered: bytearray) -> Line:
    """Return *line* with the words that dashes join as one, where nothing read a part of them."""
    words: list[Token] = []
    for word in line.words:
        last = words[-1] if words else None
        joint = line.written[last.end : word.start] if last is not None and word.glued else ""
        dashed = bool(joint) and not joint.strip("-_") and not covered[word.start]
        words_both = last is not None and {last.kind, word.kind} <= {WORD, NAME} and "§" not in (last.lex, word.lex)
        if last is not None and dashed and words_both and not covered[last.start]:
            text = line.written[last.start : word.end].lower()
            words[-1] = Token(WORD, text, text, last.start, word.end, last.glued)
        else:
            words.append(word)
    return Line(words, line.written)


def apart(start: int, end: int, text: str, aside: bool = False) -> Left:
    """Return what stands from one character to another as a word of its own."""
    words = " ".join(text[start:end].split())
    return Left(words, "" if aside else words, start, end, words, (), (), aside=aside)


def _left(line: Line, at: int) -> Left:
    word, words = line.words[at], line.words
    before, behind = words[at - 1] if at else None, words[at + 1] if at + 1 < len(words) else None
    leading = tuple(token.lex for token in words[max(0, at - 3) : at])
    counts = word.kind == NUMBER and behind is not None and behind.kind == WORD and _names(behind.lex)
    last = behind if behind is not None and counts else word
    first = before if before is not None and before.kind == WORD and not counts else word
    return Left(
        line.written[word.start : word.end],
        word.lex,
        word.start,
        word.end,
        " ".join(line.written[first.start : last.end].split()),
        leading,
        tuple(token.lex for token in words[at + 1 : at + 4]),
        word.kind == NUMBER,
        is_denied(leading[-2:]),
        clock(int(word.text)) if word.lex == DURATION else word.lex,
    )


def is_denied(leading: Sequence[str]) -> bool:
    """Tell whether the words before a word deny it: "of" does so behind "instead" alone ("half of hour")."""
    return not _DENIALS.isdisjoint(word for word in leading if word != "of" or "instead" in leading)


def _names(lex: str) -> bool:
    """Tell whether a word behind a number says what is counted."""
    return lex in _COUNTED or lex not in _ENDS | FILLERS


def unread(words: Sequence[Left], slots: Slots, site: Site, systems: Sequence[str] = ()) -> tuple[Unread, ...]:
    """Return what is told, and what stops, once *slots* holds all that was read and set, in the names of *site*.

    *systems*: the file systems that a job may name there.
    """
    used = {str(slot.value).lower() for slot in slots.values()}
    open_ = [left for left in words if left.text.lower() not in used and not _is_held(left, slots)]
    free = [left for left in open_ if not left.denied and not left.aside]
    had = slots.text("filesystems").split(":")
    denied = [left.text for left in words if left.denied and "account" not in slots and is_account(left.text, site)]
    others = [
        left.text
        for left in free
        if left.text.lower() in systems
        and left.text.lower() not in had
        and (left.text.lower() != "home" or left.behind[:1] in (("too",), ("also",)))
    ]
    unread = [Unread(word, "filesystems", stops=True) for word in others if "filesystems" in slots]
    if "filesystems" in slots and "home" in systems and "home" not in had:
        unread += [Unread(left.text) for left in free if left.text.lower() == "home" and left.text not in others]
    unread += [Unread("not " + word, "account", stops=True) for word in denied]
    unread += [each for left in free for each in _judged(left, slots, site)]
    lines = [Unread(left.near if left.number else left.text) for left in open_ if _is_told(left)]
    return tuple(dict.fromkeys([*unread, *lines]))


def _is_held(left: Left, slots: Slots) -> bool:
    """Tell whether a slot was read from that very word, or has it in its value: one may stand around many words."""
    return any(
        slot.origin.start <= left.start < slot.origin.end
        and (" " not in slot.origin.where or left.text.lower() in str(slot.value).lower())
        for slot in slots.values()
    )


def _is_told(left: Left) -> bool:
    """Tell whether a word that is denied, or of another job, has weight: it is told, and never taken."""
    if not (left.denied or left.aside):
        return False
    marked = _OPTION.match(left.text) or _PLACE.fullmatch(left.text) or _VARIABLE.match(left.text)
    return bool(marked or any(sign.isdigit() for sign in left.text) or not left.lex)


def is_account(word: str, site: Site) -> bool:
    """Tell whether a word has the shape of the accounts there."""
    return site.id in _accounts_of(word)


def _accounts_of(word: str) -> list[str]:
    """Return the clusters whose accounts have the shape of a word."""
    return [file.id for file in of_files() if any(re.fullmatch(each, word, re.I) for each in file.account_shapes)]


def may_be_account(word: str, site: Site) -> bool:
    """Tell whether a word may be an account there, as far as the forms of its accounts are known."""
    return is_account(word, site) or not any(file.id == site.id and file.account_shapes for file in of_files())


def whose_account(word: str, site: Site) -> str:
    """Return the one other cluster that alone has accounts of that shape, "" where there is none, or several."""
    others = [] if may_be_account(word, site) else _accounts_of(word)
    return others[0] if len(others) == 1 else ""


def _judged(left: Left, slots: Slots, site: Site) -> Iterator[Unread]:
    place = _place(left, slots, site) or _part_of_place(left, slots, site)
    if place is not None:
        yield place
    elif _OPTION.match(left.text) or _PLACE.fullmatch(left.text):
        somewhere = left.before[-1:] != () and left.before[-1] in _WHERE and not left.text.startswith("-")
        yield Unread(left.text, stops=left.text not in _HARMLESS and not somewhere)
    elif left.lex == DURATION:
        lost = "walltime" not in slots and left.behind[:1] != ("of",)  # "10 hours of audio"
        yield Unread(left.text, "walltime", left.value, stops=True) if lost else Unread(left.near)
    elif left.number and (_corrects(left) or _is_one_of_two(left)):
        yield Unread(left.near, stops=True)
    elif left.number and (slot := _counted(left)):
        known = any(name in slots for name in _ALIKE.get(slot, (slot,)))
        value = left.value if left.value.isdigit() else ""
        yield Unread(left.near) if known else Unread(left.near, slot, value, stops=True)
    elif left.lex == "node" and not {"nodes", "gpus_total", "gpus_per_node"} & {*slots} and _is_uncounted(left):
        yield Unread("%s %s" % (left.before[-1], left.text), "nodes", stops=True)
    elif _touches_a_time(left):
        yield Unread(left.near, "walltime", stops=True)
    elif left.lex in _OF_TIME and "walltime" not in slots:
        yield Unread(left.text, "walltime", stops=True)
    elif left.text.lower() in _LENGTHS:
        yield Unread(left.text, "walltime", stops="walltime" not in slots)
    elif _OF_A_MODEL.fullmatch(left.text):
        yield Unread(left.text, "model", stops="model" not in slots)
    elif any(sign.isdigit() for sign in left.text):
        yield Unread(left.near)
    elif any(slot in slots for slot in _SLOTS_OF.get(left.text.lower(), ())):
        return
    elif left.text.lower() in _WEIGHTY or _VARIABLE.match(left.text) or _LOG_FILE.search(left.text):
        yield Unread(left.text)


def _touches_a_time(left: Left) -> bool:
    """Tell whether a word goes on with a time that was read: "4 hours and half", "an hour and lots of minutes"."""
    return DURATION in left.before if left.lex in _FRACTIONS else left.lex in _OF_TIME and DURATION in left.before[-2:]


def _place(left: Left, slots: Slots, site: Site) -> Unread | None:
    """Return the partition, queue or QOS of this site that the word is; an everyday word only where it stands so."""
    rows = [row for row in site.partitions if row.name.lower() == left.text.lower() and not row.routed]
    if not rows or (left.text.lower() in _EVERYDAY and not _stands_alone(left)):
        return None
    for row in rows:
        if row.selector not in slots:
            return Unread(left.text, row.selector, row.name, stops=True)
    other = left.text.lower() not in _EVERYDAY and str(slots[rows[0].selector].value) != rows[0].name
    return Unread(left.text, rows[0].selector, rows[0].name, stops=other)


def _part_of_place(left: Left, slots: Slots, site: Site) -> Unread | None:
    """Return the word that names several places of the site in part: "the interactive partition"."""
    beside = left.behind[:1] in (("partition",), ("queue",), ("qos",))
    rows = [row for row in site.partitions if left.text.lower() in row.name.lower().split("-") and not row.routed]
    if not beside or not rows or any(row.selector in slots for row in rows):
        return None
    return Unread(left.text, rows[0].selector, stops=True)


_QUOTED = re.compile(r"[«“„][ \t]*(?P<word>[\w.+-]*\w)[ \t]*[»”“]")


def _in_value(quoted: re.Match[str], slots: Slots) -> bool:
    """Tell whether a quoted word is, or is a part of, what was read."""
    return any(quoted["word"].lower() in str(slot.value).lower() for slot in slots.values())


_CHUNK = re.compile(r"[^\s,;()\"'`|，。；：、（）]+")


def missed(text: str, slots: Slots, known: Sequence[Unread], site: Site) -> Iterator[Unread]:
    """Yield the names of the site's places and of software that stand in no slot and were not told of.

    Whatever a reading made of the words around them: a wish, a phrase, the middle of a list. What is prose is none.
    """
    places = {row.name.lower() for row in site.partitions if not row.routed} - (_PROSE - _LED)
    words = {*" ".join(unread.text for unread in known).lower().split(), *(str(slot.value) for slot in slots.values())}
    for quoted in _QUOTED.finditer(text):  # who puts a word in quotes means it
        if not words & {quoted["word"].lower(), quoted["word"]} and not _in_value(quoted, slots):
            yield Unread(quoted["word"])
    for match in _CHUNK.finditer(text):
        word = match[0].rstrip(".:!?")
        name = word.lower().lstrip(":")
        own = name in places | SOFTWARE or _NAME.fullmatch(name)
        if not own or name in words or any(slot in slots for slot in _SLOTS_OF.get(name, ())):
            continue
        if not _is_held(apart(match.start(), match.start() + len(word), text), slots):
            yield Unread(word)


def _stands_alone(left: Left) -> bool:
    """Tell whether a comma, an end or a word of place stands beside it on both sides."""
    beside = _ENDS | _PLACE_WORDS
    return {*left.before[-1:], *left.behind[:1]} <= beside


def is_item(left: Left, exactly: bool = False) -> bool:
    """Tell whether an everyday word is an item of its own: between commas, ends and values that were read, or led to.

    "prod, 6 hours", "6 hours in regular."; "in general" leads to no place. *exactly*: it is written as the site writes
    it, in capitals.
    """
    prose = left.text.lower() in _PROSE and not exactly
    before, behind = left.before[-1:], left.behind[:1]
    ends = not behind or behind[0] in _APART or behind[0][0].isupper() or _is_value(left.behind)
    if before and before[0] in _LEADS_TO and (not prose or left.text.lower() in _LED):
        return ends or behind[0] in _GOES_ON
    begins = not before or before[0] in _APART | _UNITS or before[0][0].isupper() or _is_value(before)
    signed = not before or before[0] in _APART  # "now: prod with 32 nodes"
    return begins and (ends or signed and behind[0] in _GOES_ON) and not prose


def _is_value(words: Sequence[str]) -> bool:
    """Tell whether a value begins there: a code such as `abc123`, a time, a number with its unit; no "batch 64"."""
    bare = words[0].isdigit()
    return words[1:2] != () and words[1] in _UNITS if bare else any(sign.isdigit() for sign in words[0])


def _is_uncounted(left: Left) -> bool:
    """Tell whether a word that nobody knows stands before "nodes": it may be their number."""
    word = left.before[-1] if left.before else ""
    return word.isalpha() and word.islower() and len(word) > 3 and word not in FILLERS | _ADJECTIVES | _COUNTED


def _corrects(left: Left) -> bool:
    """Tell whether a number stands behind a word that takes back or adds to another: "make it 8", "after job 12"."""
    if left.before[-2:] in (("no", ","), ("not", ",")):
        return True  # "4 nodes ... no, three would do"
    if left.text.isalpha() and left.behind and left.behind[0] not in _ENDS:
        return False  # "make it one proper script"
    if left.behind[:1] in (("a",), ("an",), ("the",), ("into",)):
        return False  # "make 503 a batch job"
    after_job = left.before[-1:] == ("job",) and not _WAITS.isdisjoint(left.before[:-1])
    return after_job or not _LEADS.isdisjoint(left.before[-2:])


def _is_one_of_two(left: Left) -> bool:
    """Tell whether a number is one of two that somebody leaves open: "4 or 8", "like 4? or 8?"."""
    first, last = left.before[-2:], left.behind[:3]
    return "or" in last and any(word.isdigit() for word in last) or "or" in first and left.behind[:1] != ("of",)


def _counted(left: Left) -> str:
    """Return the slot that a number of nodes, GPUs or ranks would fill, "" where it counts something else.

    "500 GPU hours" is a budget, and "one process per GPU" what is done anyway.
    """
    first, second = (*left.behind, "", "")[:2]
    each_gpu = first in ("rank", "task", "process") and {"gpu", "GPU"} & {*left.before[-2:]} and left.value == "1"
    if first not in _COUNTED or second in ("hour", "-", "each", "per") or each_gpu:
        return ""
    return _SLOT_OF.get(first, "")
