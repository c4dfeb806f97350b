"""What the readings themselves would not notice: held against the words once more, whatever made the values.

Four things that a value read right never shows: it lacks a part of the word that it was read from, it has the sign that
stands for what was read before, a total beside it is no total of it, a name that the words give stands in no value.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from maple_submit_filter.site.facts import Site

from ...base.near_names import near
from ...base.slots import Missing, Slots, Unread
from ..language.vocabulary import listed, pattern, texts
from ..unread import is_account, whose_account

_WORDS = texts("accounted")
_TAIL = re.compile(r"[^\s,;)\]}\"'`»”|，。；、]*")
_NAMED = re.compile(r"(?i)(?:%s)[ \t]*[:=]?[ \t]*[\"'`«“]?(?P<name>[\w~/$.][\w./~$+-]*\w)" % pattern(_WORDS["named"]))
_NO_NAME = listed(_WORDS["no_name"])
_TOTAL = re.compile(
    r"(?i)(?<![\w.:%%-])(?P<n>\d{1,5})(?:[ \t]*(?:%(what)s))?[ \t]*,?[ \t]*(?:%(behind)s)(?!\w)"
    r"|(?<!\w)(?:%(ahead)s)[ \t]*[:=]?[ \t]*(?P<m>\d{1,5})[ \t]*(?:%(what)s)(?!\w)"
    % {name: pattern(_WORDS[name]) for name in ("what", "behind", "ahead")}
)
MASK = "§"  # in place of what was read before


def torn(text: str, slots: Slots) -> Iterator[Unread]:
    """Yield each word of which a value has only the beginning: "0-11%3" read as "0-11"."""
    for slot in slots.values():
        start, end = slot.origin.start, slot.origin.end
        if slot.origin.by != "request" or not end or not text[end - 1].isalnum() or slot.name in _JOINED:
            continue
        rest = _TAIL.match(text, end)
        tail = rest[0].rstrip(".:!?*_") if rest is not None else ""
        if re.match(r"(?a:[%:=/@+.-]\w*\d)", tail):
            begin = text.rfind(" ", 0, end) + 1
            yield Unread(text[max(begin, start) : end] + tail, slot.name, stops=True)


_JOINED = ("environment", "variables", "program")  # put together of several places


def total(text: str, sizes: Mapping[str, int]) -> Iterator[Missing]:
    """Yield the question for the nodes where a number "in total" is no product of the *sizes* that were said."""
    nodes = sizes.get("nodes")
    if nodes is None:
        return
    known = {nodes, *(nodes * sizes[name] for name in ("gpus_per_node", "ranks_per_node") if name in sizes)}
    known |= {sizes[name] for name in ("gpus_total", "ranks") if name in sizes}
    each = [sizes[name] for name in ("gpus_per_node", "ranks_per_node") if name in sizes]
    for match in _TOTAL.finditer(text):
        number = int(match["n"] or match["m"])
        if each and number and number not in known:
            says = "%d nodes of %d are %d, and the request says %s" % (
                nodes, each[0], nodes * each[0], " ".join(match[0].split()),
            )  # fmt: skip
            yield Missing("nodes", says + "; say how many nodes", tuple(map(str, _nodes(nodes, number, each[0]))))


def _nodes(nodes: int, number: int, each: int) -> Sequence[int]:
    return (nodes, number // each) if number % each == 0 else (nodes,)


_SIZE = re.compile(
    r"(?i)(?<![\w.:-])\d{1,4}[ \tx*-]*(?:nodes?|(?:%s)|[a-z]{1,2}\d{2,4}[a-z]?(?:-\d+gb?)?)(?!\w)" % _WORDS["what"]
)
_LENGTH = re.compile(r"(?i)(?<![\w.:-])\d+(?:[.,]\d+)?[ -]?(?:h|hrs?|hours?|min|mins|minutes?|d|days?|weeks?)(?!\w)")


def other_time(slots: Slots, unread: Sequence[Unread]) -> Iterator[Missing]:
    """Yield the question for the time where only another job's is said: then the place's own is no guess to take."""
    lengths = [each.text for each in unread if not each.stops and _LENGTH.search(each.text)]
    if "walltime" not in slots and lengths:
        yield Missing("walltime", "%s may be of another job; say how long this one may run" % lengths[0])


def other_size(slots: Slots, ranks: int | None, unread: Sequence[Unread]) -> Iterator[Missing]:
    """Yield the question for the nodes where a number of GPUs or nodes is written, and not sure of which job: then one
    node is no guess to take."""
    sizes = [each.text for each in unread if not each.stops and _SIZE.search(each.text)]
    if sizes and ranks is None and not {"nodes", "gpus_total"} & set(slots):
        yield Missing("nodes", "%s may be of another job; say how many nodes" % sizes[0])


def other_kind(slots: Slots, kinds: Sequence[str], unread: Sequence[Unread], site: Site) -> Iterator[Missing]:
    """Yield the question for the GPU where one of the site's is named and not read, and no place or kind is: the
    usual kind is no guess to take then."""
    if kinds or any(name in slots for name in ("gpu", "partition", "queue", "qos")):
        return
    words = " ".join(each.text for each in unread if not each.stops).lower()
    for kind in site.kinds:
        about = " ".join((kind.name, kind.gpu_model, kind.gpu_type)).lower()
        names = re.findall(r"[a-z]+\d+[a-z]*", about) if kind.gpus != 0 else []
        name = next((name for name in names if re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), words)), "")
        if name:
            yield Missing(
                "gpu", "%s is named, and it is not sure for what; say which GPUs" % name.upper(), (kind.name,)
            )
            return


_OF_PLACES = {"-A": "account", "--account": "account", "-p": "partition", "--partition": "partition", "-q": "queue"}


def of_scheduler(slots: Slots, site: Site) -> Iterator[Missing]:
    """Yield the question for an account or a place that stands among the program's own arguments, in the spelling of
    the scheduler and with a value of this site: "train.py --lr 1 -A TG-PHY230099"."""
    words = slots.text("program").split()
    rows = {row.name for row in site.partitions}
    for option, value in itertools.pairwise(words[1:]):
        name = _OF_PLACES.get(option, "")
        name = next((row.selector for row in site.partitions if row.name == value), name) if name != "account" else name
        fits = is_account(value, site) if name == "account" else value in rows
        if name and fits and name not in slots:
            yield Missing(name, "%s %s stands behind the program; say %s" % (option, value, name), (value,))  # type: ignore[arg-type]


def of_another(slots: Slots, site: Site) -> Iterator[Missing]:
    """Yield the question for the account where what was read has the form of another cluster's accounts."""
    own = slots.get("account")
    whose = whose_account(str(own.value), site) if own is not None and own.origin.by == "request" else ""
    if own is not None and whose:
        yield Missing("account", "%s has the form of an account of %s; say the one to charge here" % (own.value, whose))


def no_system(slots: Slots, systems: Sequence[str]) -> Iterator[Missing]:
    """Yield the question for the file systems where one that was read is nearly one of the *systems* there, or is the
    value of another slot.

    What is like none of them may be one of which the site file does not know.
    """
    own = slots.get("filesystems")
    others = [name for name in str(own.value).split(":") if name not in systems] if own is not None and systems else []
    values = {str(slot.value).lower() for slot in slots.values() if slot.name != "filesystems"}
    others = [name for name in others if name.lower() in values or near(name, systems) and not _longer(name, systems)]
    if others and own is not None and own.origin.by == "request":
        yield Missing("filesystems", "%s is no file system here; say which it needs" % others[0], tuple(systems))


def _longer(name: str, systems: Sequence[str]) -> bool:
    """Return whether a name is one of *systems* with more words behind it: daos_user_fs is no slip for daos_user."""
    return any(name.startswith((system + "_", system + "-")) for system in systems)


def masked(slots: Slots) -> Iterator[Missing]:
    """Yield the question for each slot of which a part was read as something else: its value is not what was said."""
    for slot in slots.values():
        if MASK in str(slot.value):
            yield Missing(slot.name, "%s was not read whole; say it" % slot.origin.where)


def nameless(text: str, slots: Slots, known: Sequence[Unread]) -> Iterator[Unread]:
    """Yield the names that the words give to something ("it is named x") and that stand in no value."""
    values = " ".join([*(str(slot.value) for slot in slots.values()), *(unread.text for unread in known)]).lower()
    for match in _NAMED.finditer(text):
        name = match["name"]
        if name.lower() not in _NO_NAME and name.lower() not in values:
            yield Unread(name)


_KEYED = re.compile(
    r"(?i)(?<![\w./-])(?P<key>account|acct|partition|queue|qos)[ \t]*(?:[:=]|[ \t](?:is|called|named)[ \t]+)?[ \t]*"
    r"[\"'`«“]?(?P<name>[a-z][\w.-]*\w)(?![\w./@(-]*[/@(])"
)
_NO_PLACE = listed(texts("places")["stop"])


def keyed(text: str, slots: Slots, known: Sequence[Unread]) -> Iterator[Unread]:
    """Yield the word behind "account" or "partition" that no reading took for a name, where that slot is open.

    It may be prose ("the queue moves fast"); a name that is not asked about would be lost.
    """
    had = " ".join([*(str(slot.value) for slot in slots.values()), *(unread.text for unread in known)]).lower()
    for match in _KEYED.finditer(text):
        name, key = match["name"], match["key"].lower()
        slot = "account" if key == "acct" else key
        alike = ("partition", "queue") if slot in ("partition", "queue") else (slot,)
        if name.lower() not in _NO_PLACE and name.lower() not in had and not any(each in slots for each in alike):
            yield Unread(name, slot, name, stops=True)
