"""The formats of progress lines: data, one file each in `templates/progress/`, and the pattern of a user's own.

The pattern of a user's own format: one line of TOML, for the site or beside the script.

`[progress] pattern = "step (?P<step>[0-9]+)/(?P<total>[0-9]+)"` in `/etc/maple/progress.toml`, or in `maple.toml`
beside the script, beside the log, or here. Several are a list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, Union

import tomllib
from maple_submit_filter.host import places
from pydantic import Field

from ..base import tables
from ..base.complaint import Complaint

KINDS = ("step", "epoch", "steps", "start", "resumed", "evaluation", "checkpoint", "ended")
GROUPS = ("step", "total", "epoch", "epochs", "loss", "step_seconds", "ms")  # of a user's own pattern
OWN = "own pattern"  # what the format of a user's own pattern is called


class Form(tables.Table):
    """One kind of line. *holds*: literals of which one stands in every such line, in small letters or as printed.

    *pattern*: what a whole line is searched for; *also*: further patterns whose groups are added where they are found.
    *counts*: what `total` is of. *unit*: of the group `speed`. *open*: a drawn line, whole without its line end.
    *mean*: the time of a step that it prints is the mean since its bar began.
    """

    kind: Literal["step", "epoch", "steps", "start", "resumed", "evaluation", "checkpoint", "ended"]
    holds: Annotated[list[str], Field(min_length=1)]
    pattern: str
    also: list[str] = []
    counts: Literal["run", "epoch", "part", "bar"] = "run"
    unit: str = ""
    open: bool = False
    mean: bool = False
    epoch_base: Annotated[int, Field(ge=0, le=1)] = 1
    role: Literal["training", "evaluation", "preparation"] = "training"


class Bar(tables.Table):
    """What a bar with such a description, or of such a unit, counts. The first that fits holds."""

    is_: Annotated[Literal["run", "epoch", "epochs", "evaluation", "preparation"], Field(alias="is")]
    described: str = ""
    unit: str = ""
    holds: str = ""  # in what stands behind the time: loss, learning rate


class Example(tables.Table):
    """A line, and what is read in it; what is left out must not be read. *from_*: the page that shows it."""

    line: str
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    loss: float | None = None
    speed: float | None = None
    unit: str = ""
    from_: Annotated[str, Field(alias="from")] = ""


class Sheet(tables.Part):
    """A file of `templates/progress/`. *versions*: releases whose source or logs were looked at."""

    title: str
    versions: list[str] = []
    line: list[Form] = []
    bar: list[Bar] = []
    example: list[Example] = []


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of line, ready for use. *order*: the earlier is tried first."""

    format: str
    form: Form
    pattern: re.Pattern[str]
    also: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Formats:
    """All kinds of lines, and what bars mean. *words*: each literal, with the places in *known* of those it is of."""

    known: tuple[Known, ...]
    bars: tuple[tuple[Bar, re.Pattern[str] | None, re.Pattern[str] | None], ...]
    holds: tuple[bytes, ...]
    words: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def own(self) -> bool:
        """Whether a pattern of a user's is among them."""
        return any(known.format == OWN for known in self.known)

    def of_ours(self) -> Formats:
        """Return them without patterns of a user's."""
        return _made([known for known in self.known if known.format != OWN], self.bars)

    def once(self) -> Formats:
        """Return what is told once, near the beginning: totals, starts."""
        return _made([known for known in self.known if known.form.kind in ("steps", "start", "resumed")], self.bars)


FIRST = ("megatron", "nanotron", "torchtitan", "verl", "ray", "deepspeed", "hf_trainer", "accelerate", "keras", "jax",
         "vision", "lightning", "tqdm")  # fmt: skip
# The special ones stand before the general; what is not named stands behind.


def sheets() -> dict[str, Sheet]:
    """Return every file in force by its name. Raises `ValueError`: a line for each mistake, with file and key path."""
    files = {name: tables.read(Sheet, path) for name, path in tables.paths("progress").items()}
    for name, sheet in files.items():
        _check(name, sheet)
    return files


@cache
def formats(own: tuple[str, ...] = ()) -> Formats:
    """Return what lines are known by; *own*: patterns of the user's, which stand before all others."""
    return compiled(sheets(), own)


def compiled(files: dict[str, Sheet], own: Sequence[str] = ()) -> Formats:
    """Return sheets and own patterns, ready for use. Raises `ValueError` for what is no pattern."""
    order = [*[name for name in FIRST if name in files], *[name for name in files if name not in FIRST]]
    known = [_known(OWN, _of_user(pattern)) for pattern in own]
    known += [_known(name, form) for name in order for form in files[name].line]
    bars = tuple((bar, _optional(bar.described), _optional(bar.holds)) for name in order for bar in files[name].bar)
    return _made(known, bars)


def _made(
    known: Sequence[Known], bars: tuple[tuple[Bar, re.Pattern[str] | None, re.Pattern[str] | None], ...]
) -> Formats:
    words: dict[str, list[int]] = {}
    for at, row in enumerate(known):
        for word in row.form.holds:
            words.setdefault(word, []).append(at)
    shortest = [word for word in words if not any(other in word for other in words.keys() - {word})]
    holds = tuple(sorted(word.encode() for word in shortest))
    return Formats(tuple(known), bars, holds, tuple((word, tuple(places)) for word, places in words.items()))


def _of_user(pattern: str) -> Form:
    """Return the form of a user's own pattern: it may be anything, so any line is looked at."""
    try:
        named = re.compile(pattern).groupindex
    except re.error as error:
        raise ValueError("no regular expression: %s" % error) from None
    if "step" not in named and "epoch" not in named:
        raise ValueError("it names neither (?P<step>…) nor (?P<epoch>…)")
    strange = [name for name in named if name not in GROUPS]
    if strange:
        raise ValueError("there is no group %s; there are %s" % (strange[0], ", ".join(GROUPS)))
    unit = next((kind for kind in ("step_seconds", "ms") if kind in named), "")
    return Form(kind="step", holds=[""], pattern=pattern, counts="run", unit=unit)


def _known(name: str, form: Form) -> Known:
    return Known(name, form, re.compile(form.pattern), tuple(re.compile(pattern) for pattern in form.also))


def _optional(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern, re.IGNORECASE) if pattern else None


def _check(name: str, sheet: Sheet) -> None:
    for at, form in enumerate(sheet.line):
        for pattern in (form.pattern, *form.also):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError("progress/%s.toml: line.%d: %s: %s" % (name, at, pattern, error)) from None


BESIDE, OF_SITE = "maple.toml", "progress.toml"
MOST_BYTES = 64 * 1024


class Patterns(tables.Table):
    """The table `[progress]`."""

    pattern: Union[str, list[str]] = []


def known(folders: Iterable[str]) -> Formats:
    """Return all formats with the own patterns of the site and of *folders* before them. Raises `Complaint`."""
    files = [os.path.join(folder or ".", BESIDE) for folder in folders] + [os.path.join(places.etc(), OF_SITE)]
    own: list[str] = []
    for path in dict.fromkeys(os.path.abspath(file) for file in files):
        own += _of_file(path)
    try:
        return formats(tuple(own))
    except ValueError as error:
        raise Complaint("[progress] pattern: %s" % str(error).split("\n")[0], "see man maple-progress") from error


def _of_file(path: str) -> list[str]:
    """Return the patterns of one file, none where there is none. Raises `Complaint` for what cannot be used."""
    try:
        with open(path, "rb") as file:
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            raise ValueError("%s: longer than %d KiB" % (path, MOST_BYTES >> 10))
        return _patterns(source, path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []
    except OSError as error:
        raise Complaint("%s: %s" % (path, (error.strerror or str(error)).lower())) from error
    except ValueError as error:
        raise Complaint(str(error).split("\n")[0], "see man maple-progress") from error


def _patterns(source: bytes, path: str) -> list[str]:
    try:
        table = tomllib.loads(source.decode("utf-8")).get("progress", {})
    except ValueError as error:
        raise ValueError("%s: not TOML: %s" % (path, error)) from None
    progress = tables.checked(Patterns, table, path + ": [progress]")
    patterns = [progress.pattern] if isinstance(progress.pattern, str) else progress.pattern
    for pattern in patterns:
        try:
            formats((pattern,))
        except ValueError as error:
            raise ValueError("%s: [progress] pattern: %s" % (path, error)) from None
    return patterns
