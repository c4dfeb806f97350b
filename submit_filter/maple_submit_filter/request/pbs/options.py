"""The options of qsub (OpenPBS 23.06), and the two that hold lists: `-l` and `-W`.

Which values qsub takes for its options (OpenPBS 23.06). Only what is surely refused is called illegal.

Which word of qsub's command line is the script, and when to leave it alone. `front/words_qsub.c` does the same.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..directives import BLANK
from ..options import OptionTable, table
from ..slurm.options import Words

_DATE = re.compile(rb"(?:(?:(?:\d\d){0,2}(\d\d))?(\d\d))?(\d\d)(\d\d)(?:\.[0-5]\d)?\Z")
_RANGE = re.compile(rb"(\d{1,18})-(\d{1,18})(?::(\d{1,18}))?(?:%(\d{1,18}))?\Z")
_CHECKPOINT = re.compile(rb"(?:n|s|c|w|[cw]=\d+)\Z")
_PRIORITY = re.compile(rb"[+-]?\d{1,9}\Z")
_DESTINATION = re.compile(rb"\s*[^\s#@]*(?:@[^\s#@]+)?\Z")
_BLANK = re.compile(rb"\s")

_VALUES = """
execution-time/a account/A checkpoint/c directive-prefix/C error/e join/j array/J keep/k resource-list/l mail-type/m
mail-user/M job-name/N output/o priority/p project/P queue/q rerunable/r remove-files/R shell/S user/u variable-list/v
attributes/W
"""
_FLAGS = "foreground/f hold/h interactive/I all-variables/V x11/X quiet/z"
QSUB = OptionTable({}, table(_VALUES, _FLAGS, "").short)  # one getopt string, no long options

RESOURCES, ATTRIBUTES = "resource-list", "attributes"
STRIPPED = ("checkpoint", "mail-type", "priority")  # qsub skips the blanks before these values
TO_THE_END = b"preempt_targets"  # the one resource whose value holds commas
TRUTHS = (b"block", b"interactive")  # attributes that say true or false and nothing else


class Item(NamedTuple):
    """One `name=value` of a list; *value* is b"" where only a name stands.

    *start* and *end*: the bytes of the option's value that are *value*, -1 where quotes took part or there is no `=`.
    """

    name: bytes
    value: bytes
    start: int
    end: int


class Items(NamedTuple):
    """What a list says, and why qsub will not take it: "" or a few words."""

    items: Tuple[Item, ...]
    problem: str


def resources(text: bytes) -> Items:
    """Read the value of `-l`: names with or without a value, split at commas and at blanks outside quotes."""
    items: List[Item] = []
    at = 0
    while at < len(text):
        at = _past_blanks(text, at)
        stop = next((pos for pos in range(at, len(text)) if text[pos] in b"=,"), len(text))
        if stop == at:
            return Items(tuple(items), "a resource without a name")
        name = (text[at:stop].split() or [b""])[0]
        if text[stop : stop + 1] == b"=":
            item, stop, problem = _resource(name, text, _past_blanks(text, stop + 1))
            if problem:
                return Items(tuple(items), problem)
            items.append(item)
        else:
            items.append(Item(name, b"", -1, -1))
        at = stop
        if text[at : at + 1] == b",":
            at += 1
            if at == len(text):
                return Items(tuple(items), "a comma at the end")
    return Items(tuple(items), "")


def _resource(name: bytes, text: bytes, start: int) -> Tuple[Item, int, str]:
    """Read one value from *start*: up to a comma or a blank. One kind of quote per value; quotes are taken away."""
    if name.startswith(TO_THE_END):
        return Item(name, text[start:], start, len(text)), len(text), ""
    value = bytearray()
    quote, quoting, pos = 0, False, start
    while pos < len(text):
        byte = text[pos]
        if (byte < 32 or byte > 126) and byte not in BLANK:
            return Item(name, b"", -1, -1), pos, "illegal character"
        if quoting and byte == quote:
            quoting = False
        elif not quoting and byte in b"\"'" and quote in (0, byte):
            quote, quoting = byte, True
        elif not quoting and (byte == b","[0] or byte in BLANK):
            break
        elif byte == b"&"[0]:
            return Item(name, b"", -1, -1), pos, "illegal character"
        else:
            value.append(byte)
        pos += 1
    if quoting:
        return Item(name, b"", -1, -1), pos, "no closing quote"
    return Item(name, bytes(value), -1 if quote else start, -1 if quote else pos), pos, ""


def attributes(text: bytes) -> Items:
    """Read the value of `-W`: a value goes up to the last comma before the next `=`, so it may hold commas."""
    items: List[Item] = []
    at = _past_blanks(text, 0)
    if at == len(text):
        return Items((), "nothing in it")
    while at < len(text):
        item, at = _attribute(text, at)
        if at < 0:
            return Items(tuple(items), "an attribute without a name or a value")
        if item.name in TRUTHS and item.value.lower() not in (b"true", b"false"):
            return Items(tuple(items), "%s is true or false" % item.name.decode())
        items.append(item)
        at = _past_blanks(text, at)
    return Items(tuple(items), "")


def _attribute(text: bytes, at: int) -> Tuple[Item, int]:
    """Read one attribute from *at*; the second is where the next one starts, -1 where qsub would stop."""
    bad = Item(b"", b"", -1, -1), -1
    equals = text.find(b"=", at)
    name = text[at:equals].rstrip(BLANK)
    if equals < 0 or not name or name[:1] == b"," or len(name.split()) != 1:
        return bad
    start = search = _past_blanks(text, equals + 1)
    quoted = text[start : start + 1] in (b'"', b"'")
    if quoted:
        search = text.find(text[start : start + 1], start + 1)
        if search < 0:
            return bad
    following = text.find(b"=", search)
    if following < 0:
        value = text[start:].rstrip(BLANK)
        if value.endswith(b","):
            return bad
        return _item(name, value, start, quoted), len(text)
    comma = text.rfind(b",", start, following)
    if comma < 0 or comma < search:
        return bad
    return _item(name, text[start:comma].rstrip(BLANK), start, quoted), comma + 1


def _item(name: bytes, value: bytes, start: int, quoted: bool) -> Item:
    if quoted:
        return Item(name, value[1:].replace(value[:1], b" ", 1).rstrip(BLANK), -1, -1)
    return Item(name, value, start, start + len(value))


def _past_blanks(text: bytes, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


def is_date(value: bytes) -> bool:
    """Return whether -a takes it: [[[[CC]YY]MM]DD]hhmm[.SS]."""
    match = _DATE.match(value)
    if not match:
        return False
    month, day, hour, minute = (int(part) if part else None for part in match.groups())
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return False
    return (hour or 0) < 24 and (minute or 0) < 60


def is_range(value: bytes) -> bool:
    """Return whether -J takes it: X-Y, X-Y:Z, either with %N for how many may run at once."""
    match = _RANGE.match(value)
    if not match:
        return False
    first, last, step, most = (int(part) if part else None for part in match.groups())
    return (first or 0) < (last or 0) and step != 0 and most != 0


def _is_priority(value: bytes) -> bool:
    return bool(_PRIORITY.match(value)) and -1024 <= int(value) <= 1023


def _of(letters: bytes) -> Callable[[bytes], bool]:
    """Return a test: one or several of these letters, or `n` alone."""
    return lambda value: value == b"n" or (bool(value) and not value.strip(letters))


def _are_paths(value: bytes) -> bool:
    return all(path.startswith(b"/") for path in value.split(b","))


_TAKEN: Dict[str, Callable[[bytes], bool]] = {
    "execution-time": is_date,
    "array": is_range,
    "checkpoint": lambda value: bool(_CHECKPOINT.match(value)),
    "error": bool,
    "output": bool,
    "join": lambda value: value in (b"oe", b"eo", b"n"),
    "keep": _of(b"oedr"),
    "mail-type": _of(b"abej"),
    "job-name": lambda value: not _BLANK.search(value),
    "priority": _is_priority,
    "rerunable": lambda value: value in (b"y", b"n"),
    "remove-files": _of(b"oe"),
    "shell": _are_paths,
    "queue": lambda value: bool(_DESTINATION.match(value)),
}
# These are looked at when the option is read, so that in a script the directive is refused.
AT_ONCE = ("execution-time", "rerunable")


def is_illegal(name: str, value: bytes) -> bool:
    """Return whether qsub refuses this value of the option *name*."""
    taken = _TAKEN.get(name)
    return taken is not None and not taken(value)


# getopt's letters of OpenPBS 23.06, where options end at the first word that is none; a colon: the letter has a value.
OPTIONS = b"a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"
LEAVING = b"Iu"  # no script is submitted, or in another's name


class Letters(NamedTuple):
    """*pairs*: letters with their values (b"" for none), in order. *end*: the first word behind the options.

    *problem*: qsub answers the words with its usage, or takes them for something else (`--version`).
    *executable*: `--` ended the options, so a program follows and no script.
    """

    pairs: Tuple[Tuple[bytes, bytes], ...]
    end: int
    problem: bool = False
    executable: bool = False


def read_letters(argv: Sequence[bytes]) -> Letters:
    """Return the options of qsub's command line, argv[0] included and passed over."""
    letters: List[Tuple[bytes, bytes]] = []
    at = 1
    while at < len(argv) and argv[at][:1] == b"-" and argv[at] != b"-":
        if argv[at] == b"--":
            return Letters(tuple(letters), at + 1, executable=True)
        word, at = argv[at], at + 1
        for index in range(1, len(word)):
            letter = word[index : index + 1]
            if letter == b":" or letter not in OPTIONS:
                return Letters(tuple(letters), at, problem=True)
            if OPTIONS[OPTIONS.index(letter) + 1 : OPTIONS.index(letter) + 2] != b":":
                letters.append((letter, b""))
                continue
            value = word[index + 1 :]
            if not value and at == len(argv):
                return Letters(tuple(letters), at, problem=True)
            letters.append((letter, value or argv[at]))
            at += not value
            break
    return Letters(tuple(letters), at)


def read(argv: Sequence[bytes]) -> Optional[Words]:
    """Return what the words say of the script, None where the submission is better left alone."""
    letters = read_letters(argv)
    operands = argv[letters.end :]
    if not argv or letters.problem or letters.executable or len(operands) > 1:
        return None
    if any(letter in LEAVING for letter, _ in letters.pairs) or (operands and not operands[0]):
        return None
    if argv[letters.end - 1] == b"--":  # a value: qsub may take it for the end of the options
        return None
    if not operands or operands[0] == b"-":
        return Words("stdin", as_named=True)
    return Words("file", letters.end, as_named=True)
