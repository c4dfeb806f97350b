"""A request in words -> slots: what it says, what contradicts itself in it, and what was not understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from maple_submit_filter.launchers.registry import AGENTS

from ..base.slots import NAMES, RANK_A_GPU, Name, Origin, Slot, Slots
from . import (
    arguments,
    clusters,
    counts,
    durations,
    forms,
    particulars,
    phrases,
    places,
    programs,
    rows,
    scheduler_options,
    site_names,
    surroundings,
)
from .language import languages
from .language.lexemes import GPUS, RANKS, UNDESCRIBED, WEAK, WISH, Line, Reading, counted, flowing
from .language.vocabulary import listed, texts
from .language.words import NUMBER, Token, joint, merged, plain, tokens
from .site_names import SiteNames
from .unread import Asked, apart, left
from .weights import Weighed, weigh, without_clash

if TYPE_CHECKING:
    from ..templates.cluster import Cluster


_WORDS = texts("words")

_RANK_A_GPU = re.compile(
    r"\b(?:one|1|a|single) (?:process|rank|task)(?:es|s)? ?(?:per|/|for each|for every|on each|each) ?"
    r"(?:gpu|card|gcd|tile)s?\b",
    re.I,
)


def read(text: str, *, clusters: Sequence[SiteNames] | None = None) -> Asked:
    """Return what *text* says. *clusters*: those that can be named, None for all that have a site file.

    Raises nothing for odd text; one that `refusal` refuses for its form says nothing.
    """
    if languages.refusal(text):
        return Asked(Slots())
    table = rows.as_lines(text)
    if table is not None:
        return _written(read(table.text, clusters=clusters), table, text)
    those = tuple(clusters) if clusters is not None else _described()
    english = languages.english(text, programs.read(languages.apart(text))[1])
    if english is not None:
        return _written(read_english(english.text, those), english, text)
    return read_english(text, those)


@lru_cache(256)
def read_english(text: str, those: tuple[SiteNames, ...]) -> Asked:
    """Return what an English *text* says."""
    line, readings, taken = _readings(forms.plain_form(text), those, text)
    weighed = weigh(line, readings)
    return _asked(
        weighed,
        line,
        text,
        [
            *taken,
            *((outer.start, outer.end) for outer in readings if not _is_apart(outer)),
            *(match.span() for match in _RANK_A_GPU.finditer(text)),
        ],
    )


def _is_apart(reading: Reading) -> bool:
    """Tell whether a reading says nothing of all its words: a wish may be a part of a place's name, "debug-scaling"."""
    place = reading.name == WISH and reading.value in ("debug", "interactive", "preempt", "shared")
    return place or reading.name == "mail_on"  # its words stand apart, and were told apart


def _written(asked: Asked, english: languages.Translated, text: str) -> Asked:
    """Return *asked*, read from a translation, with the characters and words of the request as it was written."""

    def own(slot: Slot) -> Slot:
        start, end = english.span(slot.origin.start, slot.origin.end)
        return slot._replace(origin=Origin(slot.origin.by, " ".join(text[start:end].split()), start, end))

    left = []
    for word in asked.left:
        start, end = english.span(word.start, word.end)
        near = text[start:end]
        left.append(word._replace(text=text[start:end], start=start, end=end, near=near))
    slots, doubted = Slots(map(own, asked.slots.values())), tuple(map(own, asked.doubted))
    return asked._replace(slots=slots, left=tuple(left), doubted=doubted)


def refusal(text: str) -> str | None:
    """Return in one line why *text* cannot be read as a request, None where it can. Takes bounded time."""
    wrong = languages.refusal(text)
    foreign = None if wrong else languages.unknown(text)
    if wrong or not foreign and languages.about_a_job(text):
        return wrong
    asked = read(text)
    if asked.contradictions or asked.doubts or set(asked.slots) - {"site", "program"}:
        return None
    return (
        foreign
        or 'the request says nothing of a job; say for example "train.py with DDP on 2 nodes, 4 hours, account abc123"'
    )


def resolve(asked: Asked, cluster: Cluster) -> Asked:
    """Return *asked* in the names of *cluster*: GPU -> node kind, "queue X" -> the selector that has an X there.

    What the cluster does not have becomes a contradiction.
    """
    from .cluster_names import resolved

    return resolved(asked, cluster)


def _described() -> tuple[SiteNames, ...]:
    return site_names.of_files()


def _readings(
    text: str, those: tuple[SiteNames, ...], written: str
) -> tuple[Line, list[Reading], list[tuple[int, int]]]:
    """Return the words of a request, all that was read from them, and the characters that programs and options take."""
    commands, of_commands = programs.read(text)
    commands, of_servers = arguments.served(text, commands)
    of_commands += of_servers
    masked = _masked(text, of_commands)
    options, of_options = scheduler_options.read(masked, lambda word: clusters.is_name(word, those))
    masked = _masked(masked, of_options)
    runs, of_runs = arguments.read(masked, [*commands, *options], written)
    masked = _masked(masked, of_runs)
    details, of_details = particulars.read(masked)
    masked = _masked(masked, of_details)
    short = list(forms.read(masked))
    masked = _masked(masked, [(reading.start, reading.end) for reading in short if reading.name != "walltime"])
    flat = plain(masked)
    words, named = _named(flat, masked, those)
    words = counted(words)
    words, sizes = sized(words)
    line = Line(durations.timed(flowing(words, flat)), written)
    spoken = [*counts.read(line), *durations.read(line), *places.read(line, masked), *clusters.read(line, those)]
    around = list(surroundings.read(line, masked))
    readings = [*commands, *options, *runs, *details, *short, *named, *sizes, *spoken, *around]
    return line, readings, [*of_commands, *of_options, *of_runs, *of_details]


def _named(flat: str, text: str, those: tuple[SiteNames, ...]) -> tuple[list[Token], list[Reading]]:
    """Return the words of a plain text with every name that is known as one word, and what the names say."""
    words, readings = phrases.replaced(tokens(flat), text)
    return clusters.named(words, text, those), readings


def _masked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text with a sign in place of every span, so that nothing is read inside; no character moves.

    What parts a span from the words before it stays: "48 hours, name x" are hours.
    """
    for start, end in spans:
        start += len(text[start:end]) - len(text[start:end].lstrip(" \t\n,;(|"))
        text = text[:start] + "§" + " " * (end - start - 1) + text[end:]
    return text


def _asked(weighed: Weighed, line: Line, text: str, spans: Sequence[tuple[int, int]]) -> Asked:
    readings = dict(weighed.readings)
    doubts = [*weighed.doubts, *durations.doubts(line, readings), *counts.doubts(line, readings)]
    doubts += surroundings.doubts(line, readings)
    for missing in doubts:
        readings.pop(missing.slot, None)
    readings, clashing = without_clash(line, readings)
    counted = counts.counts_said(readings)
    each = readings.pop("rank_gpus", None)
    if each is not None and not (counted.ranks_per_node or counted.ranks):  # one for each task of an array
        readings.setdefault(GPUS, each._replace(name=GPUS))
        counted = counts.counts_said(readings)
    bare = readings.pop(GPUS, None)
    wrong = list(weighed.contradictions)
    if bare is not None:
        name = counts.meaning_of_gpus(counted)
        if name in readings and readings[name].value != bare.value and not counts.agrees(counted):
            wrong.append(
                "two values for %s: %s and %s; say one" % (name.replace("_", " "), readings[name].value, bare.value)
            )
        readings.setdefault(name, bare._replace(name=name))
        counted = counts.counts_said(readings)
    counted, dropped = _of_agents(readings, counted)
    shell = [readings.pop("output")] if "$" in str(getattr(readings.get("output"), "value", "")) else []
    wrong += [*counts.contradictions(counted), *counts.overfull(line, counted)]
    _rank_slot(readings, counted)
    unused = _gpu_slot(readings)
    slots = Slots(_slot(reading, text) for reading in readings.values() if reading.name in NAMES)
    unread = left(line, spans)
    named = weighed.readings.get(UNDESCRIBED)
    return Asked(
        slots,
        tuple(dict.fromkeys(wrong)),
        weighed.wishes | ({RANK_A_GPU} if _RANK_A_GPU.search(text) else set()),
        " ".join(word.text for word in unread if word.lex not in _FILLERS and len(word.text) > 1),
        ranks=counted.ranks,
        gpus_open=bare is not None and bool(counted.nodes and counted.nodes > 1),
        left=(
            *unread,
            *(apart(reading.start, reading.end, text) for reading in (*weighed.arguments, *dropped, *unused)),
            *(
                apart(reading.start, reading.end, text, aside=True) for reading in (*weighed.outdone, *shell, *clashing)
            ),  # no directive expands $SCRATCH
        ),
        doubts=tuple(doubts),
        doubted=tuple(_slot(reading, text) for reading in weighed.doubted),
        undescribed=(text[named.start : named.end], str(named.value)) if named is not None else None,
    )


def _of_agents(readings: dict[str, Reading], counted: counts.Counts) -> tuple[counts.Counts, tuple[Reading, ...]]:
    """Return the counts as a launcher that starts ranks has them, and the readings that say nothing then.

    One task a node starts such a launcher; "one process" beside several GPUs is how it is tried elsewhere. Fewer ranks
    than nodes can only be those of each node.
    """
    agent = "launcher" in readings and readings["launcher"].value in AGENTS
    if agent and counted.ranks == 1 and not counted.nodes and (counted.gpus_total or counted.gpus_per_node or 1) > 1:
        return counted._replace(ranks=None), (readings.pop(RANKS),)
    if counted.ranks is None or not counted.nodes:
        return counted, ()
    if agent and counted.ranks == counted.nodes == 1:
        return counted._replace(ranks=None), ()
    if (
        agent
        and counted.ranks in (1, counted.nodes)
        and (counted.nodes > 1 or (counted.ranks_per_node or counted.gpus_per_node or 1) > 1)
    ):
        return counted._replace(ranks=None), (readings.pop(RANKS),)
    if counted.ranks < counted.nodes and counted.ranks_per_node is None:
        readings["ranks_per_node"] = readings.pop(RANKS)._replace(name="ranks_per_node")
        return counted._replace(ranks=None, ranks_per_node=counted.ranks), ()
    return counted, ()


def _rank_slot(readings: dict[str, Reading], counted: counts.Counts) -> None:
    """Ranks of the whole job and a number of nodes say how many a node has."""
    if counted.ranks and counted.nodes and "ranks_per_node" not in readings and counted.ranks % counted.nodes == 0:
        readings["ranks_per_node"] = readings[RANKS]._replace(
            name="ranks_per_node", value=counted.ranks // counted.nodes
        )


def _gpu_slot(readings: dict[str, Reading]) -> list[Reading]:
    """The memory of the GPU, and a constraint that names features, say which GPU is wanted; return what does not."""
    memory, constraint = readings.pop(MEMORY, None), readings.pop("constraint", None)
    if memory is not None and "GB" not in str(readings.get("gpu", memory).value).upper():
        gpu = readings.get("gpu")
        value = "%s %sGB" % (gpu.value, memory.value) if gpu else "%sGB" % memory.value
        readings["gpu"] = (gpu or memory)._replace(name="gpu", value=value)
    if constraint is None or str(constraint.value).lower() in ("gpu", "cpu"):
        return []
    if "gpu" in readings:
        return [constraint] if readings["gpu"].value != constraint.value else []
    readings["gpu"] = constraint._replace(name="gpu")
    return []


def _slot(reading: Reading, text: str) -> Slot:
    name: Name = reading.name  # type: ignore[assignment]
    where = " ".join(text[reading.start : reading.end].split())
    return Slot(name, reading.value, Origin("request", where, reading.start, reading.end))


# What of a request nobody understood.

_FILLERS = listed(_WORDS["fillers"])


# Amounts of memory: "80 GB" is no count of anything, and beside a GPU it says which one.

MEMORY = "gpu_memory"
_UNITS = ("gb", "gib", "g", "tb", "gigabyte", "gigabytes", "gig", "gigs")
_SIZES = ("16", "24", "32", "40", "48", "64", "80", "94", "96", "128", "141")
_OF_GPU = frozenset(("gpu", "GPU", "hbm", "vram", "card"))


def sized(words: Sequence[Token]) -> tuple[list[Token], list[Reading]]:
    """Return the words with every amount as one word `SIZE`, and the amounts that say which GPU is wanted."""
    tokens = merged(words, _sized)
    return tokens, [reading for at, word in enumerate(tokens) if word.lex == "SIZE" for reading in _of_gpu(tokens, at)]


def _sized(words: Sequence[Token], at: int) -> tuple[int, Token]:
    taken = _taken(words, at)
    of_node = at + taken < len(words) and words[at + taken].lex == "node"
    lex = "SIZE" if not of_node or words[at].lex in _SIZES else "AMOUNT"  # "a 13 GB node" names no kind of GPU
    return taken, joint("size", words[at].lex, lex, words[at : at + (taken or 1)])


def _taken(words: Sequence[Token], at: int) -> int:
    if words[at].kind != NUMBER:
        return 0
    dash = 1 if at + 1 < len(words) and words[at + 1].text == "-" and words[at + 1].glued else 0
    unit = words[at + 1 + dash] if at + 1 + dash < len(words) else None
    return 2 + dash if unit is not None and unit.text in _UNITS and (len(unit.text) > 1 or unit.glued) else 0


def _of_gpu(words: Sequence[Token], at: int) -> list[Reading]:
    """Return a reading where the amount stands beside a GPU: "80 GB A100s", "GPUs with 80 GB", "40GB cards"."""
    word = words[at]
    behind = [token.lex for token in words[at + 1 : at + 3]]
    before = [token.lex for token in words[max(0, at - 3) : at]]
    near = bool(behind) and (behind[0] in _OF_GPU or behind[0] in ("nvidia", "of") and behind[-1] in _OF_GPU)
    near = (
        near
        or behind[:1] == ["node"]
        or behind[:1] in (["one"], ["1"])
        and "GPU" in [token.lex for token in words[max(0, at - 4) : at]]
    )
    beside = (
        near
        or before[-1:] == ["GPU"]
        or before[-2:-1] in (["gpu"], ["GPU"])
        and before[-1] in ("with", "(", "of", "from", "-", ",")
    )
    if beside and word.text.isdigit() and 8 <= int(word.text) <= 512:
        return [Reading(MEMORY, int(word.text), word.start, word.end, WEAK)]
    return []
