"""Words that only start the program behind them: env, numactl, apptainer exec, uv run and their like."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from ..types.launch_plan import Option
from ..types.text import NUL, Text
from . import wrapper_tables as tables
from .grammar import Reading, read
from .wrapper_tables import Wrapper

_RANKS = (b"SLURM_*", b"PALS_*", b"PMI_*")


class Changes(NamedTuple):
    """What a wrapper does to the environment of its program, in order: *cleared* first, then *unset*, then *set*.

    *kept*: variables that a cleared environment hands through, `SLURM_*` for all of them. *container*: the program
    and its libraries come from an image. *unread*: something else happens to the environment that cannot be read from
    the line.
    """

    set: Tuple[Tuple[bytes, Text], ...] = ()
    unset: Tuple[bytes, ...] = ()
    kept: Tuple[bytes, ...] = ()
    cleared: bool = False
    container: bool = False
    unread: bool = False


class Unwrapped(NamedTuple):
    """A wrapper, read. *program_index* is the first word of its program, len(argv) where there is none.

    *implies*: words to be thought in front of the program (`uv run train.py` runs python). *open* and *problem* as in
    a `Reading`. *unread*: why the program is not simply the words that follow, "" when it is.
    """

    name: str
    program_index: int
    changes: Changes
    options: Tuple[Option, ...] = ()
    implies: Tuple[bytes, ...] = ()
    open: bool = False
    split_only: bool = False
    problem: str = ""
    unread: str = ""


def pinned(wrapper: Unwrapped, argv: Sequence[Text]) -> Optional[bytes]:
    """Return the CPUs that taskset or numactl binds its program to, None where neither does or they are not known."""
    chosen = {option.name: option.value for option in wrapper.options}
    if wrapper.name == "taskset" and "cpu-list" in chosen:
        text: Optional[Text] = argv[wrapper.program_index - 1]
        before = b""
    else:
        text = chosen.get("physcpubind") or chosen.get("cpunodebind") or chosen.get("cpubind")
        before = b"" if "physcpubind" in chosen else b"node "
    return before + text.raw if text is not None and text.known else None


def basename(text: Text) -> Optional[bytes]:
    """Return the last part of a program's path, None when it is not known."""
    name = text.raw.rsplit(b"/", 1)[-1]
    return None if NUL in name or not name else name


def unwrap(argv: Sequence[Text], start: int = 0) -> Optional[Unwrapped]:
    """Read the wrapper at *start*; None when no known wrapper stands there, or one that starts nothing."""
    name = basename(argv[start]) if start < len(argv) else None
    if name is None:
        return None
    if name in tables.BY_NAME:
        return _unwrap(tables.BY_NAME[name], argv, start + 1)
    if name in tables.BY_VERB:
        return _with_verb(name, argv, start + 1)
    return None


def _with_verb(name: bytes, argv: Sequence[Text], start: int) -> Optional[Unwrapped]:
    """Read `conda run` and such: options of the tool, then the verb."""
    table, verbs = tables.BY_VERB[name]
    before = read(table, argv, start)
    if before.program >= len(argv):
        return None
    wrapper = verbs.get(argv[before.program].raw)
    inner = _unwrap(wrapper, argv, before.program + 1) if wrapper is not None else None
    if inner is None:
        return None
    return inner._replace(
        open=inner.open or before.open,
        split_only=_split_only(before, inner),
        problem=before.problem or inner.problem,
    )


def _split_only(before: Reading, inner: Unwrapped) -> bool:
    hard = (before.open and not before.split_only) or (inner.open and not inner.split_only)
    return not hard and (before.open or inner.open)


def _unwrap(wrapper: Wrapper, argv: Sequence[Text], start: int) -> Optional[Unwrapped]:
    if wrapper.dashes:
        return _behind_dashes(wrapper, argv, start)
    reading = read(wrapper.table, argv, start)
    effects = [(wrapper.effects.get(option.name, ""), option) for option in reading.options]
    if any(effect == tables.NOTHING for effect, _ in effects):
        return None
    changes = _changes(wrapper, effects)
    program, opened = reading.program, False
    if wrapper.assigns:
        program, changes, opened = _assigned(argv, program, changes)
    return Unwrapped(
        wrapper.table.launcher,
        program,
        changes,
        reading.options,
        _implied(wrapper, reading, argv, program),
        reading.open or opened,
        reading.split_only and not opened,
        reading.problem,
        _unread(wrapper, effects),
    )


def _behind_dashes(wrapper: Wrapper, argv: Sequence[Text], start: int) -> Optional[Unwrapped]:
    """Read a tool whose own words end with `--`; without one nobody knows where the program begins."""
    for index in range(start, len(argv)):
        if argv[index].raw == b"--":
            unread = wrapper.container and any(b"-env" in word.raw for word in argv[start:index])
            changes = Changes(container=wrapper.container, unread=unread)
            return Unwrapped(wrapper.table.launcher, index + 1, changes)
    return Unwrapped(wrapper.table.launcher, len(argv), Changes(), open=True, unread="no -- before the program")


def _unread(wrapper: Wrapper, effects: Sequence[Tuple[str, Option]]) -> str:
    if wrapper.unread:
        return wrapper.unread
    for _, option in effects:
        if option.name == "split-string":
            return "env -S splits its argument into words"
    return ""


def _implied(wrapper: Wrapper, reading: Reading, argv: Sequence[Text], program: int) -> Tuple[bytes, ...]:
    if not wrapper.runs_scripts or program >= len(argv):
        return ()
    names = [option.name for option in reading.options]
    if "module" in names:
        return (b"python", b"-m")
    return (b"python",) if "script" in names or argv[program].raw.endswith(b".py") else ()


def _changes(wrapper: Wrapper, effects: Sequence[Tuple[str, Option]]) -> Changes:
    """Return what the options do."""
    sets: List[Tuple[bytes, Text]] = []
    unset: List[bytes] = []
    kept: List[bytes] = []
    for effect, option in effects:
        if option.value is None:
            continue
        if effect == tables.UNSET:
            unset.append(option.value.raw)
        elif effect in (tables.SET, tables.SET_LIST):
            for text in _listed(option.value, effect):
                name, value = _assignment(text)
                if value is None:
                    kept.append(text.raw)
                else:
                    sets.append((name, value))
    kinds = {effect for effect, _ in effects} | {wrapper.effects.get("", "")}
    kept.extend(_RANKS if tables.KEEP_RANKS in kinds else ())
    cleared = wrapper.clears or tables.CLEAR in kinds
    return Changes(tuple(sets), tuple(unset), tuple(kept), cleared, wrapper.container, tables.UNREAD in kinds)


def _listed(value: Text, effect: str) -> List[Text]:
    """Return the parts of a comma-separated list; a comma that no NAME= follows belongs to the value before it."""
    raw = value.raw
    if effect != tables.SET_LIST:
        return [value]
    cuts = [0]
    for at, byte in enumerate(raw):
        if byte == 0x2C and raw[at + 1 :].split(b",")[0].partition(b"=")[1]:
            cuts.append(at + 1)
    ends = [cut - 1 for cut in cuts[1:]] + [len(raw)]
    return [value.slice(begin, end) for begin, end in zip(cuts, ends)]


def _assignment(text: Text) -> Tuple[bytes, Optional[Text]]:
    """Return the name, and the value where there is one."""
    name, equals, _ = text.raw.partition(b"=")
    return name, text.slice(len(name) + 1) if equals else None


def _assigned(argv: Sequence[Text], at: int, changes: Changes) -> Tuple[int, Changes, bool]:
    """Read env's `-` and its NAME=VALUE words; also return whether unknown words stood among them."""
    opened = False
    if at < len(argv) and argv[at].raw == b"-":
        changes, at = changes._replace(cleared=True), at + 1
    while at < len(argv):
        name, value = _assignment(argv[at])
        if value is None or NUL in name:
            opened = opened or argv[at].raw.startswith(NUL) or argv[at].open
            break
        changes = changes._replace(set=changes.set + ((name, value),))
        at += 1
    return at, changes, opened
