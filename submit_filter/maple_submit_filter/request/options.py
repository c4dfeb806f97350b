"""How GNU getopt_long reads a command's words: what is an option, what its value, and where the options end."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

NO, REQUIRED, OPTIONAL = "no", "required", "optional"


class Option(NamedTuple):
    """An option by its canonical long name without dashes; *value* is "no", "required" or "optional"."""

    name: str
    value: str


class OptionTable(NamedTuple):
    """*long* by every spelling, aliases included; *short* by the letter."""

    long: Dict[bytes, Option]
    short: Dict[bytes, Option]


class GivenOption(NamedTuple):
    """One option as it was said.

    *at* and *words*: index and number of its words (several short options may share one). *value*: b"" for a bare flag.
    *value_word* and *value_at*: in which word the value stands and at which byte of it; -1 where there is none.
    """

    name: str
    value: bytes
    at: int
    words: int
    spelling: bytes
    value_word: int
    value_at: int


class Reading(NamedTuple):
    """The options said, the index of the first word that is none, and why the command would refuse ("" if not)."""

    options: Tuple[GivenOption, ...]
    end: int
    problem: str


def table(values: str, flags: str, optional: str, aliases: Sequence[Tuple[str, str]] = ()) -> OptionTable:
    """Return a table from lists of names, each with its letter behind a slash where it has one."""
    long: Dict[bytes, Option] = {}
    short: Dict[bytes, Option] = {}
    for names, value in ((values, REQUIRED), (flags, NO), (optional, OPTIONAL)):
        for word in names.split():
            name, _, letter = word.partition("/")
            option = long[name.encode()] = Option(name, value)
            if letter:
                short[letter.encode()] = option
    for alias, name in aliases:
        long[alias.encode()] = long[name.encode()]
    return OptionTable(long, short)


def read_options(known: OptionTable, words: Sequence[bytes], start: int = 1) -> Reading:
    """Read options from *words*[*start*:] up to the first word that is none, as getopt does with a leading `+`."""
    uses: List[GivenOption] = []
    index = start
    while index < len(words):
        word = words[index]
        if word == b"--":
            return Reading(tuple(uses), index + 1, "")
        if word == b"-" or not word.startswith(b"-"):
            break
        options, problem = _long(known, words, index) if word.startswith(b"--") else _short(known, words, index)
        uses.extend(options)
        if problem:
            return Reading(tuple(uses), index, problem)
        index += max((option.words for option in options), default=1)
    return Reading(tuple(uses), index, "")


def named(known: OptionTable, spelling: bytes) -> Tuple[Option, ...]:
    """Return what a long name without dashes may stand for: one option, several where it is ambiguous, or none."""
    exact = known.long.get(spelling)
    if exact is not None:
        return (exact,)
    return tuple(dict.fromkeys(option for name, option in known.long.items() if name.startswith(spelling)))


def _long(known: OptionTable, words: Sequence[bytes], index: int) -> Tuple[List[GivenOption], str]:
    spelling, equals, value = words[index].partition(b"=")
    options = named(known, spelling[2:])
    shown = words[index].decode("utf-8", "backslashreplace")
    if len(options) != 1:
        names = " ".join("--" + option.name for option in options)
        return [], "option %s is ambiguous: %s" % (shown, names) if options else "unrecognized option %s" % shown
    option = options[0]
    if equals:
        if option.value == NO:
            return [], "option --%s does not take a value" % option.name
        return [GivenOption(option.name, value, index, 1, spelling, index, len(spelling) + 1)], ""
    if option.value != REQUIRED:
        return [GivenOption(option.name, b"", index, 1, spelling, -1, -1)], ""
    if index + 1 >= len(words):
        return [], "option --%s wants a value" % option.name
    return [GivenOption(option.name, words[index + 1], index, 2, spelling, index + 1, 0)], ""


def _short(known: OptionTable, words: Sequence[bytes], index: int) -> Tuple[List[GivenOption], str]:
    word = words[index]
    options: List[GivenOption] = []
    for at in range(1, len(word)):
        letter = word[at : at + 1]
        option = known.short.get(letter)
        if option is None:
            return options, "invalid option -%s" % letter.decode("utf-8", "backslashreplace")
        spelling, rest = b"-" + letter, word[at + 1 :]
        if option.value == NO or (option.value == OPTIONAL and not rest):
            options.append(GivenOption(option.name, b"", index, 1, spelling, -1, -1))
        elif rest:
            options.append(GivenOption(option.name, rest, index, 1, spelling, index, at + 1))
            break
        elif index + 1 < len(words):
            options.append(GivenOption(option.name, words[index + 1], index, 2, spelling, index + 1, 0))
        else:
            return options, "option -%s wants a value" % letter.decode("utf-8", "backslashreplace")
    return options, ""
