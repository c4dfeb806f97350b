"""An option that a launcher refused, called as what it nearly is; or left out, where another maker's MPI has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.launchers.mpi.options import TABLES
from maple_submit_filter.launchers.option_table import ONE, PAIR, Table
from maple_submit_filter.launchers.registry import NAMED
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..corrections import nearest
from ..registry import Given, fix
from .insertion import PlainWord, plain_words

_WORDS = {ONE: 1, PAIR: 2}  # that follow an option as its value
_BY_WORDS = (
    (re.compile(r"args\.c:\d+\)|\[mpiexec@"), "hydra"),
    (re.compile(r"^(?:\S*/)?mpiexec: (?:unrecognized|invalid) option"), "pals"),
    (re.compile(r"\b(?:mpirun|mpiexec|prterun|orterun|prun)(?:\.real)?: Error: unknown option"), "openmpi"),
)
_BY_NAME = (
    (re.compile(r"\b(?:torchrun|run\.py|launch\.py)(?:: error)"), "torchrun"),
    (re.compile(r"(?i)\baccelerate\b"), "accelerate"),
    (re.compile(r"\b(?:deepspeed|runner\.py): error"), "deepspeed"),
    (re.compile(r"\bsrun: "), "srun"),
    (re.compile(r"\bhorovodrun: error"), "horovodrun"),
)
_STARTS = {"hydra": ("mpiexec", "mpirun"), "pals": ("mpiexec",), "openmpi": ("mpirun", "mpiexec", "orterun", "prterun")}
_MODULES = {"torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun"}


@fix("near-option")
def near_option(given: Given) -> Fix | None:
    """Call the refused option, and others of its line that the launcher does not have, as what they nearly are.

    What is none of it, and an option of another maker's MPI, is left out with its value.
    """
    table, refused = _table(given), _refused(given).lstrip("-").partition("=")[0]
    if table is None or not refused:
        return None
    edits: list[Edit] = []
    sentences: list[str] = []
    for words in _lines(plain_words(given.job.source), table):
        if any(_named(word).lstrip("-") == refused for word in words):
            for edit, says in _mended(words, table, _of_other(refused, table), given.job.source):
                edits.append(edit)
                sentences.append(says)
    return Fix(tuple(edits), Safety.ASK, ", ".join(dict.fromkeys(sentences))) if edits else None


def _refused(given: Given) -> str:
    return given.cause.named.get("option", "") or given.caught("option")


def _table(given: Given) -> Table | None:
    """Return the options of the launcher that complained, None where it is none that is known."""
    texts = [line.text for line in given.cause.evidence]
    maker = next((maker for says, maker in _BY_WORDS for text in texts if says.search(text)), "")
    if maker:
        return TABLES.get(maker)
    name = next((name for says, name in _BY_NAME for text in texts if says.search(text)), "")
    return NAMED[name].table if name in NAMED else None


def _lines(words: Sequence[PlainWord], table: Table) -> Iterator[list[PlainWord]]:
    """Yield the plain words of each command from behind the launcher's name."""
    names = _STARTS.get(table.launcher, (table.launcher,))
    for command in dict.fromkeys(word.command for word in words):
        own = [word for word in words if word.command == command]
        at = [word.nth for word in own if _MODULES.get(word.text, word.text.rpartition("/")[2]) in names]
        yield [word for word in own if at and word.nth > at[0]]


def _mended(words: Sequence[PlainWord], table: Table, other: Table | None, source: bytes) -> Iterator[tuple[Edit, str]]:
    """Yield the edits of a launcher's own options; the first word that is neither option nor value is its program."""
    values = frozenset[int]()  # places of words that are an option's value
    for word in words:
        spelling = _named(word).encode()
        if word.nth in values or word.nth == words[0].nth and word.text == "launch":
            continue
        if not word.text.startswith("-"):
            return
        known = table.rows.get(spelling)
        near = None if known else _near(_named(word), table)
        foreign = other.rows.get(spelling) if other is not None and not known and not near else None
        row = known or (table.rows[near.encode()] if near else foreign)
        follow = _WORDS.get(row.values, 0) if row is not None and "=" not in word.text else 0
        values |= {word.nth + more for more in range(1, follow + 1)}
        if near:
            end = word.span.start + len(spelling)
            yield (
                Edit(Span(word.span.start, end), near.encode(), "near-option"),
                "%s in place of %s" % (near, _named(word)),
            )
        elif foreign is not None:
            last = next((value.span.end for value in words if follow and value.nth == word.nth + follow), word.span.end)
            yield (
                Edit(Span(word.span.start - _blank(source, word), last), b"", "near-option"),
                "without %s" % _named(word),
            )


def _near(written: str, table: Table) -> str:
    """Return the one long option that is nearly so called, spelled with dashes or underscores as it was written."""
    if not written.startswith("--"):
        return ""
    rows = {spelling.decode(): row.name for spelling, row in table.rows.items() if spelling.startswith(b"--")}
    alike = [name for name in rows if ("_" in written) == ("_" in name)] or list(rows)
    return nearest(written, alike) or nearest(written, rows)


def _of_other(refused: str, table: Table) -> Table | None:
    """Return the options of the other maker's MPI that has the refused one, None for no MPI or no such maker."""
    if table not in TABLES.values():
        return None
    spellings = (b"--" + refused.encode(), b"-" + refused.encode())
    return next((other for other in TABLES.values() if any(spelling in other.rows for spelling in spellings)), None)


def _named(word: PlainWord) -> str:
    return word.text.partition("=")[0]


def _blank(source: bytes, word: PlainWord) -> int:
    return 1 if source[word.span.start - 1 : word.span.start] in (b" ", b"\t") else 0
