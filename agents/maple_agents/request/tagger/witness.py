"""Grammar and tagger heard together on what the grammar passed over: a value, a question, or nothing that holds a slot.

Both agree, or the site knows what the tagger reads: a value. What only the tagger reads as holding a slot is asked
about. A word that stopped the script and that the tagger is sure holds nothing is told, and stops no more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.site.facts import Site

from ...base.slots import INTEGERS, Missing, Name, Origin, Slot, Slots, Unread
from ..forms import pasted
from ..language.vocabulary import listed, texts
from ..site_names import of_files
from ..unread import is_account
from .model import ASIDE, OTHER
from .reading import Reading, Span, Tagging

_FILLERS = listed(texts("words")["fillers"])
SURE = 2.0  # margins: below it a span is only a guess, and neither a value nor worth a question
FORMED = 1.0  # of a span whose form says what it is
NOTHING = 3.0  # from which on a word holds nothing
_CHOICES = frozenset(("or", "either", "if", "otherwise"))
_PLACES: tuple[Name, ...] = ("partition", "queue", "qos")
_SLOTS: dict[str, tuple[Name, ...]] = {
    "nodes": ("nodes",),
    "gpus": ("gpus_total", "gpus_per_node"),
    "gpus_per_node": ("gpus_per_node", "gpus_total"),
    "gpus_total": ("gpus_total", "gpus_per_node"),
    "walltime": ("walltime",),
    "account": ("account",),
    "place": _PLACES,
    "memory": ("memory",),
    "model": ("model",),
}
_ASKED = ("nodes", "walltime", "account")  # what only the tagger reads of these is worth a question


class Heard(NamedTuple):
    """*slots*: what both say, or the tagger and the site. *unread*: what is left to tell and to ask."""

    slots: tuple[Slot, ...]
    unread: tuple[Unread, ...]


def heard(
    text: str, tagger: Reading, unread: Sequence[Unread], known: Slots, site: Site, doubts: Collection[str] = ()
) -> Heard:
    """Return what holds of *unread* once the tagger was heard, and what it reads besides.

    *doubts*: slots that are asked for whatever the tagger reads.
    """
    sound = (own for own in tagger.taggings if _is_open(own, doubts) and not _is_hedged(own.span, tagger))
    tagger = tagger._replace(taggings=tuple(sound))
    slots: list[Slot] = []
    left: list[Unread] = []
    plain = _is_plain(tagger, known)
    for word in unread:
        slot, rest = _settled(word, text, tagger, known.with_more(slots), site, plain)
        slots += [slot] if slot else []
        left += [rest] if rest else []
    for own in tagger.taggings:
        if _is_only(own, tagger) and _is_new(own, known.with_more(slots), text, left):
            slot = _confirmed(own, site)
            slots += [slot] if slot else []
            left += [] if slot or own.span.label not in _ASKED else [_question(own)]
    if "account" not in known.with_more(slots) and "account" not in doubts and _demands_account(site):
        slots += _listed_account(tagger, known.with_more(slots), text)
    left += _guesses(tagger, known.with_more(slots), text, left) if not site.partitions else []
    untold = (_untold(unread, slots) for unread in left)
    return Heard(tuple(slots), tuple(dict.fromkeys(unread for unread in untold if unread is not None)))


def decided(text: str, tagger: Reading, doubted: Sequence[Slot], known: Slots) -> Heard:
    """Return, of slots with several values, what is wanted where all others are of another job; those are told.

    A pasted line's value is none that is wanted, whatever the tagger reads.
    """
    old, slots, others = pasted(text), [], []
    for name in dict.fromkeys(slot.name for slot in doubted if slot.name in DECIDED):
        those = [slot for slot in doubted if slot.name == name]
        wanted = [slot for slot in those if not _is_aside(slot, tagger)]
        open_ = name == "gpus_total" and (known.number("nodes") or 1) > 1  # each node's, or all: nobody said
        if open_ or len(wanted) == len(those) or len({slot.value for slot in wanted}) != 1:
            continue
        if not any(start <= slot.origin.start < end for start, end in old for slot in wanted):
            slots.append(wanted[-1])
            others += [Unread(slot.origin.where) for slot in those if slot not in wanted]
    return Heard(tuple(slots), tuple(others))


DECIDED = ("nodes", "gpus_per_node", "gpus_total", "ranks_per_node", "walltime", "memory", "account")


def doubtful(tagger: Reading, known: Slots) -> Iterator[Missing]:
    """Yield the question for each slot whose only value the tagger is sure is of another job."""
    for slot in known.values():
        if slot.name in DECIDED and slot.origin.by == "request" and _is_aside(slot, tagger, NOTHING):
            says = "%s may be of another job; say what this one has" % slot.origin.where
            yield Missing(slot.name, says, (str(slot.value),))


def _is_aside(slot: Slot, tagger: Reading, sure: float = FORMED) -> bool:
    """Tell whether all words that a value was read from surely speak of another job, or of what is not wanted."""
    start, end = slot.origin.start, slot.origin.end
    inside = [tagged for tagged in tagger.pieces if tagged.piece.start < end and start < tagged.piece.end]
    return bool(inside) and all(tagged.label == ASIDE and tagged.margin >= sure for tagged in inside)


def _untold(unread: Unread, slots: Sequence[Slot]) -> Unread | None:
    """Return what is left to tell of a word once slots were read from a part of it."""
    taken = {word for slot in slots if slot.origin.where in unread.text for word in slot.origin.where.split()}
    if unread.stops or not taken:
        return unread
    rest = [word for word in unread.text.split() if word not in taken]
    return unread._replace(text=" ".join(rest)) if any(word.lower() not in _FILLERS for word in rest) else None


_ITEM = re.compile(r"(?:(?<=[,;\n])|^)[ \t]*([A-Za-z](?=[\w-]*[A-Z\d_])[\w-]*\w)[ \t]*(?=[,;\n]|\.\s|\.?$)")
_MIXED = re.compile(r"(?<![\w./=:$-])([A-Za-z]+_(?=\w*[A-Z])\w+|[A-Z]\w*_\w+|[A-Z][a-z]+[A-Z]\w*)(?![\w./=:(-])")


def _demands_account(site: Site) -> bool:
    return any(demand.slot == "account" and demand.applies == "always" for demand in site.demands)


def _listed_account(tagger: Reading, slots: Slots, text: str) -> list[Slot]:
    """Return the account where the site demands one, and one name of the request is an item that nothing read.

    "32 nodes, prod, MegaClim, 6h": the tagger holds it for a name too, whichever slot's.
    """
    used = [(slot.origin.start, slot.origin.end) for slot in slots.values() if slot.origin.end]
    matches = [[match for match in pattern.finditer(text) if _is_account(match, used, tagger)]
             for pattern in (_ITEM, _MIXED)]  # fmt: skip
    items = matches[0] or matches[1]
    if len(items) != 1:
        return []
    start, end = items[0].span(1)
    return [Slot("account", items[0][1], Origin("request", items[0][1], start, end))]


def _is_account(match: re.Match[str], used: Sequence[tuple[int, int]], tagger: Reading) -> bool:
    """Tell whether a name may be an account: no slot was read there, and the tagger holds it for a name."""
    known = {name.lower() for site in of_files() for name in (site.id, site.name, *site.aliases)}
    taken = match[1].lower() in known or any(first < match.end(1) and match.start(1) < end for first, end in used)
    label, margin = tagger.held(*match.span(1))
    taken = taken or _MEANS.search(match.string[: match.start(1)]) is not None
    return not taken and (label in _NAMED_SO or label in (OTHER, "") and margin < NOTHING)


_MEANS = re.compile(r"(?i)\b(?:with|using|via|by|class)[ \t]+\Z")  # "with MirroredStrategy" names no account
_NAMED_SO = ("account", "job_name", "environment", "site", "paradigm", "place")


def _guesses(tagger: Reading, slots: Slots, text: str, left: Sequence[Unread]) -> list[Unread]:
    """Return the places that only the tagger reads where nobody has listed those of the site: each is told."""
    own = [each for each in tagger.taggings if each.span.label == "place" and _is_open(each, slots)]
    used = [(slot.origin.start, slot.origin.end) for slot in slots.values() if slot.origin.end]
    used += [place for unread in left for place in _places(unread.text, text)]
    return [Unread(each.span.text) for each in own if not _touches(each.span, used)]


def _is_open(own: Tagging, taken: Collection[str]) -> bool:
    """Tell whether a span has a value, for a slot of which nothing is in *taken*."""
    return bool(own.value) and not any(name in taken for name in _SLOTS.get(own.span.label, ()))


def _is_hedged(span: Span, tagger: Reading) -> bool:
    """Tell whether a word of choice stands beside a span: "premium or so", "4 or 8 nodes"."""
    before = [tagged.piece.text.lower() for tagged in tagger.pieces if tagged.piece.end <= span.start][-1:]
    behind = [tagged.piece.text.lower() for tagged in tagger.pieces if tagged.piece.start >= span.end][:1]
    return not _CHOICES.isdisjoint((*before, *behind))


def _is_plain(tagger: Reading, slots: Slots) -> bool:
    """Tell whether the tagger is sure of every word that nobody read: else what stops may not be all that is lost.

    A question too many costs a key; a script that lacks what was said costs a queue wait.
    """
    used = [(slot.origin.start, slot.origin.end) for slot in slots.values()]
    rest = (
        tagged
        for tagged in tagger.pieces
        if tagged.label == OTHER and tagged.margin < SURE and _is_word(tagged.piece.text)
    )
    return all(any(start <= tagged.piece.start < end for start, end in used) for tagged in rest)


def _is_word(text: str) -> bool:
    return len(text) > 1 and text.isalpha() and text.lower() not in _FILLERS


def _settled(
    unread: Unread, text: str, tagger: Reading, slots: Slots, site: Site, plain: bool
) -> tuple[Slot | None, Unread | None]:
    """Return the slot that a word fills, or what is left of it to tell or to ask. *plain*: see `_is_plain`."""
    places = _places(unread.text, text)
    if not unread.stops or not places:
        return None, unread
    if plain and _holds_nothing(places, tagger) and not _is_marked(unread, slots):
        return None, unread._replace(slot="", value="", stops=False)
    own = next((own for own in tagger.taggings if _touches(own.span, places)), None)
    if own is None or not _is_open(own, slots):
        return None, unread
    slot = _agreed(unread, own, site, plain) if _is_only(own, tagger) else None
    if slot is not None:
        return slot, None
    asks = plain and not unread.slot and own.span.label in _SLOTS and own.span.margin >= SURE
    return None, _question(own, unread.text) if asks else unread


def _holds_nothing(places: Sequence[tuple[int, int]], tagger: Reading) -> bool:
    """Tell whether the tagger is sure of no slot at any of *places*; the name of a data set's folder fills none."""
    labels = [tagger.held(start, end) for start, end in places]
    return all(label in (OTHER, "data") and margin >= NOTHING for label, margin in labels)


def _touches(span: Span, places: Sequence[tuple[int, int]]) -> bool:
    return any(span.start < end and start < span.end for start, end in places)


def _question(own: Tagging, words: str = "") -> Unread:
    return Unread(words or own.span.text, _SLOTS[own.span.label][0], own.value, stops=True)


def _is_only(own: Tagging, tagger: Reading) -> bool:
    """Tell whether the tagger reads one value of that slot, and no other."""
    names = _SLOTS.get(own.span.label)
    return len({each.value for each in tagger.taggings if _SLOTS.get(each.span.label) == names and each.value}) == 1


def _is_marked(unread: Unread, slots: Slots) -> bool:
    """Tell whether a word is never nothing: an option, a variable, a name of this site, the only word of a time."""
    marked = unread.text.startswith(("-", "$")) or "=" in unread.text or unread.slot in _PLACES
    return marked or unread.slot == "walltime" and "walltime" not in slots


def _agreed(unread: Unread, own: Tagging, site: Site, plain: bool) -> Slot | None:
    """Return the slot that the gate and the tagger read alike, or that the site confirms."""
    name = next((name for name in _SLOTS.get(own.span.label, ()) if name == unread.slot), None)
    alike = name is not None and unread.value in ("", own.value)
    if name is not None and alike and (plain or unread.value):
        return _slot(name, own)
    return _confirmed(own, site) if plain else None


def _confirmed(own: Tagging, site: Site) -> Slot | None:
    """Return the slot of a span that the site's knowledge confirms: a row of it, or the shape of its accounts."""
    if own.span.label == "memory" and not own.span.text.isdigit():
        return _slot("memory", own)
    if own.span.margin < SURE:
        return None
    if own.span.label == "place":
        rows = [row for row in site.partitions if row.name.lower() == own.value.lower() and not row.routed]
        if len({row.selector for row in rows}) == 1:
            return _slot(rows[0].selector, own._replace(value=rows[0].name))  # type: ignore[arg-type]
    if own.span.label == "account" and is_account(own.value, site):
        return _slot("account", own)
    return None


def _slot(name: Name, own: Tagging) -> Slot:
    span: Span = own.span
    value: int | str = int(own.value) if name in INTEGERS else own.value
    return Slot(name, value, Origin("request", " ".join(span.text.split()), span.start, span.end))


def _is_new(own: Tagging, slots: Slots, text: str, left: Sequence[Unread]) -> bool:
    """Tell whether only the tagger reads a slot there: it is open, and no reading nor question has those characters."""
    names = _SLOTS.get(own.span.label, ())
    has_unit = own.span.label == "memory" and not own.span.text.isdigit()  # its unit is a second witness
    if not names or own.span.margin < (FORMED if has_unit else SURE) or not _is_open(own, slots):
        return False
    used = [(slot.origin.start, slot.origin.end) for slot in slots.values() if slot.origin.end]
    used += [place for unread in left if unread.stops for place in _places(unread.text, text)]
    return not _touches(own.span, used) and not any(unread.stops and unread.slot in names for unread in left)


def _places(part: str, text: str) -> list[tuple[int, int]]:
    """Return where the words of *part* stand in *text*, whole and whatever blanks are between them."""
    words = r"\s+".join(map(re.escape, part.split()))
    return [match.span() for match in re.finditer(r"(?<!\w)%s(?!\w)" % words, text)] if words else []
