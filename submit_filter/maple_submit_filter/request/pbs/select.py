"""What a PBS job asks of its nodes: `select` with its chunks, `place`, and the older `nodes`.

What PBS reads in the values of `-l`: times and amounts of memory.
"""

from __future__ import annotations

import re
from typing import Callable, List, Mapping, NamedTuple, Optional, Tuple

_COUNT = re.compile(rb"\d{1,9}\Z")
_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9_.-]*\Z")
_NODE = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
ARRANGEMENTS = (b"free", b"pack", b"scatter", b"vscatter")
SHARINGS = (b"excl", b"shared", b"exclhost")


class Resource(NamedTuple):
    """One `name=value` of a chunk; *start* and *end*: the bytes of the value, in the value of `-l select`; -1: none."""

    name: bytes
    value: bytes
    start: int
    end: int


class Chunk(NamedTuple):
    """So many times these resources, each lot on one host; *start* and *end*: its bytes, -1 where it is made up."""

    count: int  # type: ignore[assignment]  # hides the method of tuple, which nobody asks for
    resources: Tuple[Resource, ...]
    start: int
    end: int

    def value(self, name: bytes) -> Optional[bytes]:
        """Return the value of a resource, None where the chunk does not name it."""
        return next((resource.value for resource in self.resources if resource.name == name), None)

    def number(self, name: bytes) -> Optional[int]:
        """Return the whole number that a resource says, None where it is not named or no number."""
        value = self.value(name)
        return int(value) if value is not None and _COUNT.match(value) else None


class Place(NamedTuple):
    """*arrangement*: free, pack, scatter, vscatter; *sharing*: excl, shared, exclhost; *group*; b"" if not said."""

    arrangement: bytes
    sharing: bytes
    group: bytes


DEFAULT = (Chunk(1, (Resource(b"ncpus", b"1", -1, -1),), -1, -1),)  # with place=pack
# What becomes part of the one chunk when it is said without `select`; a site may have more of its own.
HOST_LEVEL = ("ncpus", "ngpus", "mem", "vmem", "mpiprocs", "ompthreads", "arch", "host", "vnode")


def count(text: bytes) -> Optional[int]:
    """Return the number that a chunk begins with, None where it is none."""
    return int(text) if _COUNT.match(text) else None


def chunks(value: bytes) -> Optional[Tuple[Chunk, ...]]:
    """Return the chunks of a `select`, None where it is none: qsub refuses `x`, `-1`, `0:ncpus=1` and `1:ncpus`."""
    return _each(value, _chunk)


def _each(value: bytes, read: Callable[[bytes, int], Optional[Chunk]]) -> Optional[Tuple[Chunk, ...]]:
    """Return what *read* makes of the texts between the plus signs and their places; None where one is none."""
    chunks: List[Chunk] = []
    at = 0
    for text in value.split(b"+"):
        chunk = read(text, at)
        if chunk is None:
            return None
        chunks.append(chunk)
        at += len(text) + 1
    return tuple(chunks)


def _chunk(text: bytes, at: int) -> Optional[Chunk]:
    parts = text.split(b":")
    count, start = 1, at
    if _COUNT.match(parts[0]):
        count, start = int(parts[0]), at + len(parts[0]) + 1
        del parts[0]
    elif b"=" not in parts[0]:
        return None
    resources: List[Resource] = []
    for part in parts:
        name, equals, value = part.partition(b"=")
        if not equals or not _NAME.match(name) or b'"' in value or b"'" in value:
            return None
        resources.append(Resource(name, value, start + len(name) + 1, start + len(part)))
        start += len(part) + 1
    return Chunk(count, tuple(resources), at, at + len(text)) if count else None


def place(value: bytes) -> Optional[Place]:
    """Return what `place` says, None where it is not of the form `arrangement:sharing:group=resource`."""
    arrangement = sharing = group = b""
    for part in value.split(b":"):
        if part in ARRANGEMENTS and not arrangement:
            arrangement = part
        elif part in SHARINGS and not sharing:
            sharing = part
        elif part.startswith(b"group=") and part[6:] and not group:
            group = part[6:]
        else:
            return None
    return Place(arrangement, sharing, group)


def nodes_form(value: bytes) -> Optional[Tuple[Chunk, ...]]:
    """Return the chunks that `nodes=` becomes: `2:ppn=4` is `2:ncpus=4:mpiprocs=4`, placed with scatter.

    A bare word is given as the resource `host`; it may be a property as well. None for what qsub refuses, or what is
    not known: `2:ppn=4:gpus=1` is refused.
    """
    return _each(value.split(b"#")[0], _node)


def _node(text: bytes, at: int) -> Optional[Chunk]:
    parts = text.split(b":")
    count = 1
    if _COUNT.match(parts[0]):
        count = int(parts.pop(0))
    amounts = {b"ppn": b"", b"cpp": b"", b"ncpus": b"", b"mem": b""}
    hosts: List[Resource] = []
    for part in parts:
        name, equals, number = part.partition(b"=")
        if equals and name in amounts and not amounts[name] and number:
            amounts[name] = number
        elif not equals and _NODE.match(part):
            hosts.append(Resource(b"host", part, -1, -1))
        else:
            return None
    resources = _cpus(amounts)
    if resources is None or not count:
        return None
    return Chunk(count, (*resources, *hosts), at, at + len(text))


def _cpus(amounts: "dict[bytes, bytes]") -> Optional[Tuple[Resource, ...]]:
    """Return ncpus and mpiprocs of a node: ppn processes with cpp CPUs each, 1 where nothing is said."""
    for name in (b"ppn", b"cpp", b"ncpus"):
        if amounts[name] and not (_COUNT.match(amounts[name]) and int(amounts[name])):
            return None
    cpus = amounts[b"ncpus"] or b"%d" % (int(amounts[b"ppn"] or b"1") * int(amounts[b"cpp"] or b"1"))
    resources = [Resource(b"ncpus", cpus, -1, -1)]
    resources += [Resource(b"mpiprocs", amounts[b"ppn"], -1, -1)] if amounts[b"ppn"] else []
    resources += [Resource(b"mem", amounts[b"mem"], -1, -1)] if amounts[b"mem"] else []
    return tuple(resources)


def job_wide(amounts: Mapping[str, bytes]) -> Tuple[Chunk, ...]:
    """Return the one chunk of a job without `select` and `nodes`, from the resources of HOST_LEVEL that it says."""
    resources = [Resource(name.encode(), amounts[name], -1, -1) for name in HOST_LEVEL if amounts.get(name)]
    if not any(resource.name == b"ncpus" for resource in resources):
        resources.insert(0, DEFAULT[0].resources[0])
    return (Chunk(1, tuple(resources), -1, -1),)


_TIME = re.compile(rb"(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d*)?\Z")
_SIZE = re.compile(rb"(\d{1,18})([kKmMgGtTpP]?)([bBwW]?)\Z")
_SHIFT = {b"": 0, b"k": 10, b"m": 20, b"g": 30, b"t": 40, b"p": 50}
WORD = 8  # bytes of the `w` in `10mw`, on a 64-bit server

TIMES = ("walltime", "cput", "pcput", "min_walltime", "max_walltime", "soft_walltime")
SIZES = ("mem", "vmem", "pmem", "pvmem", "file")


def seconds(value: bytes) -> Optional[int]:
    """Return the seconds of `S`, `M:S` or `H:M:S`; 70 minutes are as good as 10. None for what is no time, or empty.

    A fraction of a second is left out. PBS takes an empty value too (`-l walltime=`): it says nothing.
    """
    match = _TIME.match(value)
    if not match:
        return None
    total = 0
    for part in match.groups():
        total = total if part is None else total * 60 + int(part)
    return total


def may_be_time(value: bytes) -> bool:
    """Return whether PBS may take a value for a time; False where it surely refuses: `abc`, `-5`, `1:2:3:4`."""
    return not value.strip(b"0123456789:.") and value.count(b":") <= 2


def size(value: bytes) -> Optional[int]:
    """Return the bytes of `500gb`, `4G`, `10mw` (words of 8 bytes) or `1024`; None for what is no size."""
    match = _SIZE.match(value)
    if not match:
        return None
    amount = int(match.group(1)) << _SHIFT[match.group(2).lower()]
    return amount * WORD if match.group(3) in b"wW" and match.group(3) else amount


def may_be_size(value: bytes) -> bool:
    """Return whether PBS may take a value for a size; nobody asked it about `1.5gb`."""
    return size(value.replace(b".", b"", 1)) is not None
