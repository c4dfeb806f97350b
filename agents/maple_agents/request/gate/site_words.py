"""The site's own words, wherever they stand in a request: partitions, queues, QOS, and what its accounts look like.

They are looked up in what no reading used. A word that several of the site's rows, or several places of the request,
would have is left to be asked about; so is an everyday word (gpu, debug) that does not stand apart, and one that stands
beside "or" and "if".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence

from maple_submit_filter.site.facts import NodeKind, Partition, Site

from ...base.slots import Name, Origin, Slot, Slots
from ..forms import pasted
from ..language.vocabulary import listed, texts
from ..phrases import is_gpu
from ..unread import Left, is_account, is_denied, is_item
from ..weights import CORRECTS

_WORDS = texts("unread")
_EVERYDAY, _PLACE_WORDS = (listed(_WORDS[name]) for name in ("everyday", "place_words"))
_EAST = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # written without blanks: a name ends where they begin
_WORD = re.compile(r"[%s]+|[^\s,;()\"'`|/&，。；、：（）%s]+" % (_EAST, _EAST))
_PLACE_SIGNS = re.compile(
    r"\s*(?:分区|队列|伫列|佇列|キュー|パーティション|파티션|큐)|\s*(?:qos|queue|partition)\b", re.I
)
_PLACE_AHEAD = re.compile(
    r"(?:分区|队列|キュー|パーティション|파티션|큐|qos|queue|partition)\s*(?:用|是|为|選|选|使用|は|に|を|은|는|로|：|:)?\s*\Z",
    re.I,
)
_APART = re.compile(r"(?:^|[,;:(|/\n])\s*\Z")
_ENDS = re.compile(r"\s*(?:[,;:)|/\n]|\.(?:\s|$)|$)")
_CHOICES = ("or", "either", "if", "otherwise")
_MOST = 40  # letters of an account


def named(
    text: str,
    left: Sequence[Left],
    slots: Slots,
    site: Site,
    systems: Sequence[str] = (),
    wishes: Collection[str] = (),
) -> tuple[Slot, ...]:
    """Return the slots that the site's own words fill, of those that *slots* leaves open or has from a pasted line.

    *systems*: the file systems that a job may name there. *wishes*: such as "debug", which may be a place's name.
    """
    free = [match for match in _WORD.finditer(text) if _is_free(match, text, left)]
    slots_here = [
        *_places(free, text, site, left, slots.text("gpu")),
        *_kinds(free, site),
        *_accounts(text, left, site),
        *(_nodes(text, site) if not {"nodes", "gpus_total", "gpus_per_node"} & {*slots} else ()),
        *_systems(free, text, systems),
    ]
    if not any(slot.name in _SELECTORS for slot in slots_here) and not any(name in slots for name in _SELECTORS):
        slots_here += _told_of(text, left, site)
    old = pasted(text)
    for row in site.partitions:
        is_named = any(slot.name == row.selector for slot in slots_here)  # "debug-scaling" is no wish for debug
        if not is_named and row.name.lower() in wishes and row.selector in slots and is_old(slots[row.selector], old):
            slots_here.append(Slot(row.selector, row.name, Origin("request", row.name)))  # type: ignore[arg-type]
    by_name: dict[Name, dict[str, Slot]] = {}
    for slot in slots_here:
        by_name.setdefault(slot.name, {})[str(slot.value).lower()] = slot  # as it was said last
    stands = {name: _standing(list(values.values()), text) for name, values in by_name.items()}
    return tuple(slot for name, slot in stands.items() if slot and (name not in slots or is_old(slots[name], old)))


def _standing(those: Sequence[Slot], text: str) -> Slot | None:
    """Return the one value, or the last of several where each next one corrects those before."""
    for before, other in itertools.pairwise(those):
        between = " ".join(re.findall(r"[\w']+|[,.:]", text[before.origin.end : other.origin.start].lower()))
        if not CORRECTS.search(" %s " % between):
            return None
    return those[-1]


def is_old(slot: Slot, old: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a slot was read from a pasted line: what the request itself says stands in its place."""
    return slot.origin.by == "request" and any(start <= slot.origin.start < end for start, end in old)


def _is_free(match: re.Match[str], text: str, left: Sequence[Left]) -> bool:
    """Tell whether a word was used by no reading, and is not denied."""
    before = [word.lower().strip(",.;:") for word in text[: match.start()].split()[-2:]]
    if _is_choice(match, text):
        return False
    inside = [rest for rest in left if match.start() <= rest.start < match.end() and not rest.aside]
    denied = is_denied(before[-1:] if before[-1:] != ["of"] else before)
    return bool(inside) and not denied and not any(rest.denied for rest in inside)


def _is_choice(match: re.Match[str], text: str) -> bool:
    """Tell whether "or" or "if" stands beside a word."""
    beside = (*text[: match.start()].split()[-1:], *text[match.end() :].split()[:1])
    return any(word.lower().strip(",.;:") in _CHOICES for word in beside)


def _bare(match: re.Match[str]) -> str:
    return match[0].rstrip(".:!?")


def _is_item(left: Left, name: str) -> bool:
    return is_item(left, left.text == name and name != name.lower())


def left_at(match: re.Match[str], left: Sequence[Left]) -> list[Left]:
    """Return what was left over inside a word of the text."""
    return [word for word in left if match.start() <= word.start < match.end()]


_SELECTORS = ("partition", "queue", "qos")


def _told_of(text: str, left: Sequence[Left], site: Site) -> list[Slot]:
    """Return the only place of the site that is spoken of ("there is this queue called pvc"), where no other is."""
    words = [
        match
        for match in _WORD.finditer(text)
        if (rest := left_at(match, left)) and not any(each.denied for each in rest)
    ]
    rows = [(row, match) for match in words for row in site.partitions if row.name.lower() == _bare(match).lower()]
    rows = [(row, match) for row, match in rows if not row.routed and row.name.lower() not in _EVERYDAY]
    if len({row.name for row, _ in rows}) != 1 or _is_choice(rows[0][1], text):
        return []
    row, match = rows[0]
    if is_denied(text[: match.start()].lower().split()[-2:]):
        return []
    return [Slot(row.selector, row.name, Origin("request", _bare(match), *match.span()))]  # type: ignore[arg-type]


def _in_part(match: re.Match[str], text: str, gpu: str, site: Site) -> list[Partition]:
    """Return the places that a word beside "partition" or "queue" is a part of, and that have the GPU asked for."""
    beside = {word.lower().strip(",.;:") for word in text[match.end() :].split()[:1]}
    if not beside & {"partition", "queue", "qos"}:
        return []
    rows = [row for row in site.partitions if _bare(match).lower() in row.name.lower().split("-") and not row.routed]
    rows = [row for row in rows if gpu in ("", *row.node_kinds)]
    return rows if len(rows) == 1 else []


def _places(free: Sequence[re.Match[str]], text: str, site: Site, left: Sequence[Left], gpu: str) -> Iterator[Slot]:
    for match in free:
        word, marked = _unmarked(_bare(match))
        joined = _joined(word, text[: match.start()], site)
        rows = [row for row in site.partitions if row.name.lower() == joined.lower() and not row.routed]
        rows = rows or _in_part(match, text, gpu, site)
        if len({row.selector for row in rows}) != 1:
            continue
        apart = marked or _is_apart(match, text) or any(_is_item(word, rows[0].name) for word in left_at(match, left))
        if word.lower() not in _EVERYDAY or apart or joined != word:
            name: Name = rows[0].selector  # type: ignore[assignment]
            yield Slot(name, rows[0].name, Origin("request", word, match.start(), match.start() + len(word)))


def _nodes(text: str, site: Site) -> Iterator[Slot]:
    """Yield the number of nodes that stands beside a place of the site: "16 x gh", "gh x16"."""
    form = r"(?i)(?<![\w.-])(?:(\d{1,4}) ?[x×*] ?NAME|NAME ?[x×*] ?(\d{1,4}))(?![\w.-])"
    for row in site.partitions:
        match = re.search(form.replace("NAME", re.escape(row.name)), text)
        if match and not is_gpu(row.name) and row.name.lower() not in _EVERYDAY:
            yield Slot("nodes", int(match[1] or match[2]), Origin("request", match[0], *match.span()))


def _kinds(free: Sequence[re.Match[str]], site: Site) -> Iterator[Slot]:
    """Yield the kind of node that is named by a feature of its own, or by its type: "hbm80g", "v100-32"."""
    for match in free:
        word = _bare(match)
        kinds = [kind for kind in site.kinds if kind.gpus and word.lower() in _marks(kind)]
        if len(kinds) == 1 and re.search(r"\d", word):
            yield Slot("gpu", kinds[0].name, Origin("request", word, match.start(), match.start() + len(word)))


def _joined(word: str, before: str, site: Site) -> str:
    """Return the row's name that a word and the one before it make: "the shared GPU partition" is GPU-shared."""
    first = (before.split(" ") or [""])[-2:][0]
    pair = {"%s-%s" % (word, first), "%s-%s" % (first, word)}
    names = {row.name.lower(): row.name for row in site.partitions}
    return next((names[both.lower()] for both in pair if first and both.lower() in names), word)


def _unmarked(word: str) -> tuple[str, bool]:
    """Return a word without what says that it is a place, "shared-QOS", and whether that stood there."""
    bare = re.sub(r"(?i)-(?:qos|queue|partition)\Z", "", word)
    return bare, bare != word


def _marks(kind: NodeKind) -> set[str]:
    return {mark.lower() for mark in (*kind.features, kind.gpu_type, kind.name) if mark}


def _is_apart(match: re.Match[str], text: str) -> bool:
    """Tell whether a word stands between commas or ends, or beside a word of place."""
    before, behind = text[: match.start()], text[match.end() :]
    if _PLACE_SIGNS.match(behind) or _PLACE_AHEAD.search(before):
        return True
    beside = {*(word.lower().strip(",.;:") for word in (*before.split()[-1:], *behind.split()[:1]))}
    if beside & (_PLACE_WORDS & {"partition", "queue", "qos"}):
        return True
    return bool(_APART.search(before)) and (bool(_ENDS.match(behind)) or match[0][-1:] in ".:")


_OTHERS = re.compile(r"(?i)\b(?:job|name|named|called|model|run|env|conda|module|user|login|--?[\w-]+)[ \t:=]*\Z")


def _touching(match: re.Match[str], left: Sequence[Left]) -> list[Left]:
    """Return what was left over of a word, or of a longer piece that it is in: "the account abc123" of an aside."""
    return [word for word in left if word.start < match.end() and match.start() < word.end]


def _accounts(text: str, left: Sequence[Left], site: Site) -> list[Slot]:
    """Return what has the shape of an account there: of several, those that no key word of something else leads to.

    One that stands beside an earlier job is the account too, where there is no other.
    """
    words = [(match, _touching(match, left)) for match in _WORD.finditer(text) if len(match[0]) <= _MOST]
    words = [(match, rest) for match, rest in words if rest and not any(each.denied for each in rest)]
    shaped = [(match, rest) for match, rest in words if is_account(_bare(match), site) and not _is_choice(match, text)]
    now = [match for match, rest in shaped if not any(each.aside for each in rest)] or [match for match, _ in shaped]
    if len({_bare(match).lower() for match in now}) > 1:
        now = [match for match in now if not _OTHERS.search(text[: match.start()])]
    words_of = ((_bare(match), match.start()) for match in now)
    return [Slot("account", word, Origin("request", word, at, at + len(word))) for word, at in words_of]


def _systems(free: Sequence[re.Match[str]], text: str, systems: Sequence[str]) -> Iterator[Slot]:
    """Yield the file systems that are named one by one, as one value: "flare only", "eagle + home"."""
    words = [(piece, match) for match in free for piece in re.finditer(r"[A-Za-z_]+", _bare(match))]
    own = [
        (piece, match) for piece, match in words if piece[0].lower() in systems and _system_stands(piece, match, text)
    ]
    ends = [match.start() + piece.end() for piece, match in own]
    anew = [at for at in range(1, len(own)) if _is_taken_back(text[ends[at - 1] : own[at][1].start()])]
    own = own[anew[-1] :] if anew else own
    if own and not all(piece[0].lower() == "home" for piece, _ in own):
        first, last = own[0], own[-1]
        names = ":".join(sorted({piece[0].lower() for piece, _ in own}))
        start, end = first[1].start() + first[0].start(), last[1].start() + last[0].end()
        yield Slot("filesystems", names, Origin("request", " ".join(text[start:end].split()), start, end))


def _is_taken_back(between: str) -> bool:
    """Tell whether the words between two names say that only what follows holds: "no wait, just"."""
    return CORRECTS.search(" %s " % " ".join(re.findall(r"\w+", between.lower()))) is not None


def _system_stands(piece: re.Match[str], match: re.Match[str], text: str) -> bool:
    """Tell whether a word is a file system's name there, and not denied ("no home needed")."""
    whole = re.fullmatch(r"[A-Za-z_]+(?:[+:&][A-Za-z_]+)*", _bare(match))
    behind = text[match.end() :].split()[:2]
    denied = re.search(r"(?:\bnot|n't|\bun)[ -]?(?:needed|touched|used|wanted|required)", " ".join(behind))
    return bool(whole) and not denied
