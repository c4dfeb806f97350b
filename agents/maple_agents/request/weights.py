"""From readings to one value a slot: what was denied or speaks of another job is left out, corrections decide."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS, OUTER

from ..base.quantities import clock
from ..base.slots import INTEGERS, NAMES, Missing
from .arguments import joined
from .clauses import asides, denied
from .counts import clashes, counts_said
from .forms import pasted
from .language.lexemes import ARGUMENTS, GPUS, NAMED, OPEN, OPTION, RANKS, SAID, WEAK, WISH, Line, Reading
from .language.vocabulary import pattern, texts

_WORDS = texts("weights")
CORRECTS = re.compile(" (?:%s) " % pattern(_WORDS["corrects"]))
_UNDECIDED, _HEDGES, _AGREES = (
    re.compile("(?i)" + pattern(_WORDS[name])) for name in ("undecided", "hedges", "agrees")
)
_VOICE = re.compile(
    r"[ \t]*(?:[>*-][ \t]*)*\[?<?@?(?P<name>[A-Z][\w.-]*)(?: [A-Z][\w.-]*)?>?\]?"
    r"(?:[ \t]+(?:wrote|writes|says|said)|[ \t]*\(?\d{1,2}:\d\d\)?)?:"
)
_AGAIN = pattern(_WORDS["again"])
_UNIT_SECONDS = (("week", 604800), ("day", 86400), ("hour", 3600), ("h", 3600), ("min", 60), ("m", 60))
_OF_ALL = {GPUS: "gpus_total"}  # what a number is asked for as
_LIBRARY_LAUNCHERS = {"accelerate-ddp": "accelerate"}


_PLACEHOLDER = r"(?:^|[ =])<(?!<)[A-Za-z]|(?:^|[ =])\.\.\.(?: |$)"


INDEX = re.compile(
    r"(?i)<(?:the )?(?:array |job |slurm |pbs )*(?:task|array|index|job)(?:[ _-]?(?:id|index|number|nr))?>"
)


class Weighed(NamedTuple):
    """What was meant, a reading a name; what contradicts itself; the words that wishes were read from.

    *doubts*: slots of which two values were said. *arguments*: denied, or of an earlier job: nobody knows whether they
    are wanted. *outdone*: whose value is none that stands: denied, corrected, of another job, or less surely said.
    """

    readings: dict[str, Reading]
    wishes: frozenset[str]
    contradictions: tuple[str, ...]
    doubts: tuple[Missing, ...] = ()
    arguments: tuple[Reading, ...] = ()
    outdone: tuple[Reading, ...] = ()
    doubted: tuple[Reading, ...] = ()


def weigh(line: Line, readings: Sequence[Reading]) -> Weighed:
    """Return what the readings of a request come to."""
    places = [reading for reading in readings if reading.name in ("partition", "queue", "qos", "account")]
    readings = [reading for reading in readings if reading.name not in ("gpu", "wish") or not _within(reading, places)]
    placed = sorted(
        ((_place(line, reading), reading) for reading in readings), key=lambda pair: (pair[0], pair[1].start)
    )
    aside = asides(line)
    refused = denied(line, [place for place, _ in placed])
    those = [reading for _, reading in placed]
    refused |= {at for at, each in enumerate(those) if _DENIED_BEHIND.match(line.written, each.end)}
    refused |= _outdone(line, those) | _taken_back(line, those) | _moved_from(line, those)
    elided = list(_elided(line, [reading for _, reading in placed], aside))
    meant = [reading for at, (place, reading) in enumerate(placed) if at not in refused and not aside[place[0]]]
    meant = sorted([*meant, *elided], key=lambda reading: reading.start)
    meant += _only_program(meant, [reading for at, reading in enumerate(those) if at not in refused])
    wishes = frozenset(str(reading.value) for reading in meant if reading.name == WISH)
    opens = [str(reading.value) for reading in meant if reading.name == OPEN]
    doubts: list[Missing] = []
    doubted: list[Reading] = []
    chosen: dict[str, Reading] = {}
    for name in dict.fromkeys(reading.name for reading in meant if reading.name not in (WISH, OPEN, OPTION, ARGUMENTS)):
        own = [reading for reading in meant if reading.name == name]
        winner, others = _chosen(line, name, own)
        slot = _OF_ALL.get(name, name)
        if others and slot in NAMES:
            doubts.append(_doubt(slot, others))
            doubted += [reading._replace(name=slot) for reading in own if str(reading.value) in others]
        elif others:
            opens.append("two values for %s: %s and %s; say one" % (name.replace("_", " "), *others[:2]))
        chosen.update({name: winner} if winner is not None else {})
    _without_old_sizes(line, chosen)
    _without_old_ranks(chosen)
    _launcher_of_library(chosen, meant)
    accounts = [reading for at, (_, reading) in enumerate(placed) if at in refused and reading.name == "account"]
    if accounts and "account" not in chosen and not any(missing.slot == "account" for missing in doubts):
        doubts.append(Missing("account", "the request says which it is not, %s; say which it is" % accounts[0].value))
    command = str(chosen["program"].value) if "program" in chosen else ""
    if re.search(_PLACEHOLDER, INDEX.sub("", command) if "array" in chosen else command):
        doubts.append(Missing("program", "%s leaves a place open; say it whole" % chosen.pop("program").value))
    runs = [reading for reading in meant if reading.name == ARGUMENTS]
    if runs and "program" in chosen:
        chosen["program"] = joined(chosen["program"], runs)
    denied_runs = tuple(each for at, each in enumerate(those) if at in refused and each.name == ARGUMENTS)
    unsaid = tuple(
        reading
        for reading in readings
        if reading.name == ARGUMENTS and reading not in denied_runs and ("program" not in chosen or reading not in runs)
    )
    outdone = (*_without_value(readings, chosen, doubts), *denied_runs)
    return Weighed(chosen, wishes, tuple(dict.fromkeys(opens)), tuple(doubts), unsaid, outdone, tuple(doubted))


def _only_program(meant: Sequence[Reading], readings: Sequence[Reading]) -> list[Reading]:
    """Return the program that is named beside an earlier job, "train.py ran on 1 node", where no other is."""
    programs = [reading for reading in readings if reading.name == "program"]
    alone = len({str(reading.value) for reading in programs}) == 1
    return programs[-1:] if alone and not any(reading.name == "program" for reading in meant) else []


def _without_value(
    readings: Sequence[Reading], chosen: Mapping[str, Reading], doubts: Sequence[Missing]
) -> Iterator[Reading]:
    """Yield the readings that have no part in what was chosen, nor in what is asked for."""
    asked = {missing.slot for missing in doubts}
    values = {str(reading.value) for reading in chosen.values()}
    spans = [
        (reading.start, reading.end) for reading in chosen.values() if reading.name not in ("environment", "variables")
    ]
    for reading in readings:
        name = _OF_ALL.get(reading.name, reading.name)
        if reading.name == OPTION:
            yield reading
        if name not in NAMES or name in asked or name in ("paradigm", "launcher"):
            continue
        if str(reading.value) not in values and not any(
            start < reading.end and reading.start < end for start, end in spans
        ):
            yield reading


def _place(line: Line, reading: Reading) -> tuple[int, int]:
    """Return the first and last word of a reading."""
    return line.word_at(reading.start), max(line.word_at(reading.start), line.word_at(reading.end - 1))


def _within(reading: Reading, others: Sequence[Reading]) -> bool:
    return any(other.start <= reading.start and reading.end <= other.end for other in others)


def _doubt(name: str, values: Sequence[str]) -> Missing:
    """Return the question which of several values holds."""
    return Missing(name, "the request says %s; say which holds" % " and ".join(values), tuple(values))  # type: ignore[arg-type]


def _chosen(line: Line, name: str, those: list[Reading]) -> tuple[Reading | None, tuple[str, ...]]:
    """Return the reading that stands, or the values of which none does."""
    if name == "program" and (either := _alternatives(line, those)):
        return None, either
    if name in _DECIDED and _differ(those) and _UNDECIDED.search(line.written):
        return None, tuple(dict.fromkeys(str(each.value) for each in those))
    those = _narrowed(name, _last(line, name, _newest(line, name, those)))
    most = max(reading.strength for reading in those)
    least = WEAK if name == "walltime" and most == NAMED else SAID  # one in a pasted command, one in a sentence
    those = [reading for reading in those if reading.strength >= min(most, least)]
    if name == "environment":
        return _together(those), ()
    if name == "variables":
        return _set(those), ()
    stands, open_ = those[0], False
    for before, reading in itertools.pairwise(those):
        if str(reading.value).lower() == str(stands.value).lower() and not open_:
            stands = reading if reading.strength >= stands.strength else stands
        elif _corrected(line, before, reading):
            stands, open_ = reading, False
        else:
            open_ = True
    return (None, tuple(dict.fromkeys(str(each.value) for each in those))) if open_ else (stands, ())


def _alternatives(line: Line, those: list[Reading]) -> tuple[str, ...]:
    """Return two programs that "or" joins: nobody can say which is meant."""
    for first, second in itertools.pairwise(those):
        if line.written[first.end : second.start].strip().lower() == "or":
            return str(first.value), str(second.value)
    return ()


def _newest(line: Line, name: str, those: list[Reading]) -> list[Reading]:
    """Return the readings of the request's own words, where a pasted line has another: "the same with 8 hours"."""
    if name in ("program", "environment", "variables"):
        return those
    old = pasted(line.written)
    own = [reading for reading in those if not any(start <= reading.start < end for start, end in old)]
    return own or those


def _last(line: Line, name: str, those: list[Reading]) -> list[Reading]:
    """Return the readings from the last that corrects one before it on: "home:flare:daos, no, just home:flare"."""
    corrects = [at for at in range(1, len(those)) if _corrected(line, those[at - 1], those[at])]
    return those[corrects[-1] :] if corrects and name in _CONTAINS else those


_CONTAINS = ("filesystems", "gpu", "container", "model")  # of which one value may be a part of another


def _without_old_sizes(line: Line, chosen: dict[str, Reading]) -> None:
    """A pasted line's totals go where the request's own words say another size, and its ranks where they say GPUs."""
    old = pasted(line.written)
    kept = {name for name, reading in chosen.items() if any(start <= reading.start < end for start, end in old)}
    for own, followers in (
        ("nodes", (RANKS, "gpus_total")),
        ("gpus_per_node", ("ranks_per_node",)),
        ("gpus_total", ("gpus_per_node", "ranks_per_node")),
    ):
        if own in chosen and own not in kept:
            for name in kept.intersection(followers):
                del chosen[name]
    if GPUS in chosen and GPUS not in kept and "nodes" in kept and "gpus_per_node" in chosen.keys() - kept:
        del chosen["nodes"]
    if "gpus_total" in chosen and "gpus_total" not in kept and {"nodes", "gpus_per_node"} & kept:
        chosen.pop("nodes" if "nodes" in kept else "gpus_per_node", None)  # so many on how many nodes, the site knows


def _without_old_ranks(chosen: dict[str, Reading]) -> None:
    """A command's total of ranks goes where it belongs to another number of nodes than was said: "-n 96 --ppn 4"."""
    nodes, each, ranks = (chosen.get(name) for name in ("nodes", "ranks_per_node", RANKS))
    if nodes and each and ranks and each.start == ranks.start and int(nodes.value) * int(each.value) != ranks.value:
        del chosen[RANKS]


def without_clash(line: Line, readings: Mapping[str, Reading]) -> tuple[dict[str, Reading], tuple[Reading, ...]]:
    """Return the readings without sizes that contradict the others, and those that go: a pasted line's, then a
    corrected one's ("4 GPUs, hmm no, so 2 nodes with 4 each"). What still contradicts itself stays."""
    if not clashes(counts_said(dict(readings))):
        return dict(readings), ()
    old = pasted(line.written)
    anew = [line.words[line.at(match.start() + 1)].start for match in CORRECTS.finditer(line.text)]
    sizes = {name: reading for name, reading in readings.items() if name in _SIZES}
    own = [reading for reading in sizes.values() if not any(start <= reading.start < end for start, end in old)]
    taken_back = [[each for each in own if each.end <= at] for at in anew if any(each.start > at for each in own)]
    for going in ([each for each in sizes.values() if each not in own], *reversed(taken_back)):
        for gone in (*([each] for each in going), going) if len(going) < len(sizes) else ():
            kept = {name: reading for name, reading in readings.items() if reading not in gone}
            if gone and not clashes(counts_said(kept)):
                return kept, tuple(gone)
    return dict(readings), ()


_DECIDED = (
    "nodes", "gpus_per_node", "gpus_total", "ranks_per_node", RANKS, GPUS, "walltime", "account", "partition", "queue",
    "qos",
)  # fmt: skip
_SIZES = ("nodes", "gpus_per_node", "gpus_total", "ranks_per_node", RANKS, GPUS)


def _narrowed(name: str, those: list[Reading]) -> list[Reading]:
    """Return the readings without those that a more exact one contains: "A100" beside "A100 80GB"."""
    values = {str(reading.value) for reading in those}
    if name == "launcher" and values & set(AGENTS):
        return [reading for reading in those if reading.value not in OUTER]
    if name == "paradigm":
        return _paradigms(those, values)
    if name == "model" and len(values) > 1:
        return [reading for reading in those if not re.fullmatch(r"(?i)\d+(?:\.\d+)?[bm]", str(reading.value))] or those
    if name == "gpu" and len(values) > 1:
        return _gpus(those)
    if name == "filesystems" and len(values) > 1:
        own = {value: {*value.split(":")} for value in values}
        return [each for each in those if not any(own[str(each.value)] < own[other] for other in values)]
    if name == "container" and len(values) > 1:  # "docker://rocm/pytorch" and what stands behind its slashes
        return [each for each in those if not any(str(each.value) in value and value != each.value for value in values)]
    if name in ("program",) and len(values) > 1:
        return [
            reading for reading in those if not any(_shorter(str(reading.value), str(other.value)) for other in those)
        ] or those
    return those


def _shorter(name: str, command: str) -> bool:
    """Tell whether a bare file name is the program of a fuller command that was said as well."""
    return name != command and name in command.split()


def _paradigms(those: list[Reading], values: set[str]) -> list[Reading]:
    if "3d" in values or {"tensor parallel", "pipeline parallel"} <= values:
        three = [reading for reading in those if reading.value == "3d"]
        return three or [next(reading for reading in those if reading.value == "tensor parallel")._replace(value="3d")]
    if "single" in values and len(values) > 1:  # "one process" of what was said besides
        return _paradigms([reading for reading in those if reading.value != "single"], values - {"single"})
    if "accelerate-ddp" in values and "ddp" in values:
        return [reading._replace(strength=SAID) for reading in those if reading.value == "accelerate-ddp"]
    if "accelerate-ddp" in values and len(values) > 1:
        return [reading for reading in those if reading.value != "accelerate-ddp"]
    return those


def _gpus(those: list[Reading]) -> list[Reading]:
    def squeezed(reading: Reading) -> str:
        return re.sub(r"[^a-z0-9]", "", str(reading.value).lower())

    return [
        reading
        for reading in those
        if not any(squeezed(other) != squeezed(reading) and squeezed(reading) in squeezed(other) for other in those)
    ]


def _together(those: list[Reading]) -> Reading:
    """Return environments that are brought one after the other as one: modules first, as people load them."""
    values = sorted(_apart(those), key=lambda value: not value.startswith("module"))
    return those[0]._replace(value="; ".join(values), end=those[-1].end)


def _apart(those: list[Reading]) -> list[str]:
    """Return the lines that bring environments, each once; a module that a longer list has too is not loaded twice."""
    values = list(dict.fromkeys(str(reading.value) for reading in those))
    words = {value: {*value.split()} for value in values}
    return [line for line in values if not any(words[line] < words[other] for other in values if other != line)]


def _set(those: list[Reading]) -> Reading:
    """Return all variables as one; of two values for one variable the later stands."""
    values = dict(str(reading.value).split("=", 1) for reading in those)
    return those[0]._replace(value=" ".join("%s=%s" % pair for pair in values.items()), end=those[-1].end)


def _corrected(line: Line, earlier: Reading, later: Reading) -> bool:
    """Tell whether a word between two values, or right behind the second, says that the second stands."""
    if _is_wish_of_another(line.written, earlier, later):
        return False
    first, second = _place(line, earlier), _place(line, later)
    between = " " + " ".join(word.lex for word in line.words[first[1] + 1 : second[0]]) + " "
    behind = line.after(second[1], 3)
    arrow = " " + " ".join(word.lex for word in line.words[second[0] : second[1]]) + " "  # read with its number
    return (
        bool(CORRECTS.search(between) or re.match(" (?:[-=] )?> ", arrow))
        or bool(re.match(r" (?:\w+ )?instead\b", behind))
        or " no " in between
        and len(between.split()) < 6
    )


def _differ(those: Sequence[Reading]) -> bool:
    return len({str(reading.value).lower() for reading in those}) > 1


def _is_wish_of_another(text: str, earlier: Reading, later: Reading) -> bool:
    """Tell whether the later value is what somebody else on a line of their own would like, and nobody agreed to.

    What one person says to another's value is as open as a "hmm" to the request's own.
    """
    begins = text.rfind("\n", 0, later.start) + 1
    ends = (text + "\n").index("\n", later.end)
    voice, before = _VOICE.match(text, begins), _VOICE.match(text, text.rfind("\n", 0, earlier.start) + 1)
    if voice is None or begins <= earlier.end or _AGREES.search(text[ends:]):
        return False
    others = before is not None and (before["name"] or "").lower() != (voice["name"] or "").lower()
    return others or _HEDGES.search(text[begins:ends]) is not None


def _outdone(line: Line, readings: Sequence[Reading]) -> set[int]:
    """Return the counts of which only a part is wanted: "we have 8 nodes, but use 6 of them"."""
    outdone: set[int] = set()
    for part in line.find(_OF_THEM):
        start = line.words[part.first].start
        before = [at for at, reading in enumerate(readings) if reading.name in INTEGERS and reading.end <= start]
        outdone.update(before[-1:])
    return outdone


def _taken_back(line: Line, readings: Sequence[Reading]) -> set[int]:
    """Return the names that a later clause says are not to be had: "account abc, right? no, that one ran out"."""
    empty = {each.value for each in readings if re.search(re.escape(str(each.value)) + _USED_UP, line.written)}
    refused = {at for at, reading in enumerate(readings) if reading.name in _PLACES and reading.value in empty}
    for part in line.find(_NOT_THAT):
        start = line.words[part.first].start
        before = [at for at, reading in enumerate(readings) if reading.name in _PLACES and reading.end <= start][-1:]
        between = line.before(part.first, part.first - line.word_at(readings[before[0]].end)) if before else ""
        refused.update(before if before and len(between.split()) < 12 and " not " not in between else ())
    return refused


_PLACES = ("account", "partition", "queue", "qos")
_NOT_THAT = pattern(_WORDS["not_that"])
_USED_UP = pattern(_WORDS["used_up"])
_OF_THEM = r"(?:need|want|only|just|use|take|get|request|reserve) (?P<n>\d+) of (?:them|these|those)"


_DENIED_BEHIND = re.compile(
    r"\s*(?:değil|말고|이? ?아니라|이? ?아니고|ではなく|じゃなくて?)"
)  # "not" stands behind, there


def _moved_from(line: Line, readings: Sequence[Reading]) -> set[int]:
    """Return what is left behind: "move from the V100s to the newer L40S"."""
    moved: set[int] = set()
    for at, (first, second) in enumerate(itertools.pairwise(readings)):
        begin, (next_begin, _) = _place(line, first), _place(line, second)
        between = line.before(next_begin, max(0, next_begin - begin[1] - 1))
        if first.name == second.name and _FROM.search(line.before(begin[0], 4)) and _ON_TO.fullmatch(between):
            moved.add(at)
    return moved


_FROM = re.compile(r" from (?:(?:the|my|our|old|older|slow) )*$")
_ON_TO = re.compile(
    r" (?:(?:gpu|node|queue|partition|card)s? )?(?:on|over)?to (?:(?:the|our|new|newer|big|bigger|faster) )*"
)


def _elided(line: Line, readings: Sequence[Reading], aside: Sequence[bool]) -> Iterator[Reading]:
    """Yield the values whose unit was said before: "instead of 2 nodes use 4", "4 nodes, no, make that 8"."""
    counts = [reading for reading in readings if reading.name in INTEGERS or reading.name in (GPUS, RANKS, "walltime")]
    lengths = (word for word in line.words if word.lex == "DUR" and word.text.isdigit())  # "took 14 hours"
    counts += [Reading("walltime", clock(int(word.text)), word.start, word.end) for word in lengths]
    counts.sort(key=lambda reading: reading.end)
    for match in line.find(_AGAIN):
        first, last = line.group(match, "n")
        word = line.words[last]
        before = [reading for reading in counts if reading.end <= word.start and _place(line, reading)[1] >= first - 12]
        if not before or any(reading.start <= word.start < reading.end for reading in counts) or aside[last]:
            continue
        like = before[-1]
        value = int(word.lex)
        if like.name == "walltime":
            amount = line.written[like.start : like.end].lower()
            units = (each for name, each in _UNIT_SECONDS if re.search(r"(?:\d\s*-?|[a-z] )%s" % name, amount))
            if unit := next(units, 0):
                yield Reading("walltime", clock(value * unit), word.start, word.end, max(like.strength, WEAK))
        elif value:
            yield Reading(like.name, value, word.start, word.end, like.strength)


def _launcher_of_library(chosen: dict[str, Reading], meant: Sequence[Reading]) -> None:
    """Where FSDP or ZeRO was said "with Accelerate", Accelerate is the launcher."""
    if "launcher" in chosen or "paradigm" not in chosen:
        return
    for reading in meant:
        launcher = _LIBRARY_LAUNCHERS.get(str(reading.value)) if reading.name == "paradigm" else None
        if launcher and chosen["paradigm"].value != reading.value:
            chosen["launcher"] = reading._replace(name="launcher", value=launcher)
