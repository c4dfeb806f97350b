"""The second witness: each name that the request writes, held against the final script, letter by letter.

It knows nothing of the readings, so a word that they think used and that went nowhere is seen. A name is what has the
form of one (a file, a path, an address, NAME=value, a word with `_`) or stands behind a label ("name:"); prose is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...base.slots import Unread
from ..forms import pasted, plain_form
from ..language.vocabulary import listed, table, texts

_WORDS = texts("unwritten")
_CHUNK = re.compile(r"[^\s,;()\[\]\"'`<>|«»„“”\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+")  # Chinese has no blanks
_SLOT_OF = table(_WORDS["labels"])
_NO_NAME = listed(_WORDS["no_name"])
_LABEL = re.compile(
    r"(?i)(?<![\w.-])(?P<label>%s)[ \t]*[:=][ \t]*[\"'`«“]?(?P<name>[\w~/$.][\w./~$%%@+-]*[\w/])"
    % "|".join(map(re.escape, sorted(_SLOT_OF, key=len, reverse=True)))
)
_OUTPUT = re.compile(
    r"(?i)(?<![\w.-])(?P<label>out|output|logs?)[ \t]+(?:in |to )?(?P<name>[\w~$.-]*/(?:[\w.%-]+/)*)(?!\w)"
)
_QUOTED = re.compile(r"(?P<label>)(?<!\w)[\"`«“„'](?P<name>[A-Za-z][\w.+-]*\w)[\"`»”“'](?![\w:]|[ \t]*:)")
_UNITS = table(_WORDS["units"])
_ENDING = re.compile(r"(?i)[\w$~./{}*?+%%=@-]*[\w*}]\.(?:%s)\Z" % "|".join(sorted(listed(_WORDS["endings"]))))
_FORMS = (
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+\Z"),
    re.compile(r"(?:~|\.{1,2}|\$\{?\w+\}?)?/[\w.$~{}*+-]+(?:/[\w.${}*%+-]*)*\Z"),
    re.compile(r"[A-Za-z][\w.-]*/(?:[\w.-]+/)*\Z"),
    re.compile(r"[A-Za-z]\w*_\w+(?:/[\w.-]+)*\Z"),
    re.compile(r"(?:[A-Z][A-Z0-9_]+=|[A-Za-z]\w*=(?!\d))[\w./~$%:+-]+\Z"),  # numbers have other forms: "mem=0"
    re.compile(r"\$\{?[A-Za-z_]\w*\}?\Z"),
    _ENDING,
)
_PARTS = re.compile(r"[:+,=&]")


def unwritten(text: str, held: Sequence[str], known: Collection[str]) -> Iterator[Unread]:
    """Yield the names of *text* that stand nowhere in *held*: the script, the values, and what was told.

    *known*: the slots that have a value. A name behind the label of another one stops: its slot is open.
    """
    there = "\n".join(held).lower()
    seen: set[str] = set()
    for name, label in _names(text):
        if name.lower() not in seen and not _stands(name.lower(), there):
            slot = _SLOT_OF.get(" ".join(label.lower().split()), "")
            stops = slot != "" and slot not in known
            yield Unread(name, slot if stops else "", name if stops else "", stops)
        seen.add(name.lower())


_COUNTED = re.compile(
    r"(?i)(?<![\w.,:/=$%%#+-])(?P<n>\d{1,7})(?:[ \t-]?(?P<unit>%s))?(?![\w:/=%%-]|[.,]\d)(?![ \t]node)"
    % "|".join(sorted(_UNITS, key=len, reverse=True))
)


def uncounted(text: str, held: Sequence[str], sizes: Mapping[str, int], assumed: Collection[str]) -> Iterator[Unread]:
    """Yield each number of *text* that stands nowhere in *held*, or whose unit has another number there.

    *sizes*: what the script has of each slot. *assumed*: the slots of which the words gave no value: what was written
    with their unit was not read, and stops.
    """
    own = plain_form(text)
    old, there = pasted(own), {*map(int, re.findall(r"\d+", "\n".join(held))), *sizes.values()}
    nodes = sizes.get("nodes", 1)
    there |= {nodes * each for each in sizes.values()}
    for hours, minutes in re.findall(r"(\d{2,3}):(\d\d):\d\d", "\n".join(held)):
        there |= {int(hours) % 24, int(hours) // 24, int(hours) * 60 + int(minutes)}
    for match in _COUNTED.finditer(own):
        number, slot = int(match["n"]), _UNITS.get((match["unit"] or "").lower(), "")
        fits = number == nodes if slot == "nodes" else number in there
        report = re.search(r"(?<![\w.])%d(?![\w.])" % number, held[-1]) if held else None
        if not fits and report is None and not any(start <= match.start() < end for start, end in old):
            stops = slot in assumed
            yield Unread(match[0], slot if stops else "", match["n"] if stops else "", stops)


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Yield each name and its label, labelled ones first; pasted lines of an earlier job are read by others."""
    old = pasted(text)

    def is_old(at: int) -> bool:
        return any(start <= at < end for start, end in old)

    for pattern in (_LABEL, _OUTPUT, _QUOTED):
        for match in pattern.finditer(text):
            if match["name"].lower() not in _NO_NAME and not is_old(match.start()):
                yield match["name"].rstrip("."), match["label"]
    for match in _CHUNK.finditer(text):
        name = match[0].strip("*").rstrip(".:!?").lstrip(":")
        if is_old(match.start()) or "://" in name or name.lower() in _NO_NAME:
            continue
        if any(form.match(name) for form in _FORMS):
            yield name, ""


def _stands(name: str, there: str) -> bool:
    """Tell whether a name stands in *there* as a word, whole or by its parts: "home:eagle" as `eagle:home`."""
    bare = name.removeprefix("./").strip("${}") or name
    key, equals, value = bare.partition("=")
    parts = _PARTS.split(value if equals and value and "_" not in key else bare)  # "lr=1e-4" as `--lr 1e-4`
    return _is_word(bare, there) or all(_is_word(part, there) for part in parts if part)


def _is_word(name: str, there: str) -> bool:
    begin = r"(?<![a-z0-9])" if name[0].isalnum() else ""
    end = r"(?![a-z0-9])" if name[-1].isalnum() else ""
    return re.search(begin + re.escape(name) + end, there) is not None
