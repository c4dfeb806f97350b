"""Lists of CPUs as launchers and OpenMP runtimes spell them.

Read: srun's map_cpu, mask_cpu, map_ldom and mask_ldom, PALS' list, Hydra's user, Intel MPI's list of processors;
GOMP_CPU_AFFINITY, KMP_AFFINITY with a list of processors, OMP_PLACES with places in braces (OpenMP 5.2, 6.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .. import topology

Cpus = frozenset[int]
_MOST_ENTRIES = 1024
_RANGES = re.compile(r"\d+(?:-\d+)?(?:[ ,]+\d+(?:-\d+)?)*\Z")
_LIST = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
_SETS = re.compile(r"\d+(?:\+\d+)*(?:,\d+(?:\+\d+)*)*")
_PROCLIST = re.compile(r"proclist=\[([\d,-]+)\]")
_PLACE = re.compile(r"\{(\d+)(?::(\d+)(?::(\d+))?|((?:,\d+)*))\}(?::(\d+)(?::(\d+))?)?(?:,|\Z)")
_MOST = 4096


def of_openmp(placing: Mapping[bytes, bytes]) -> str | None:
    """Return the cores as a list, `0-7,16`; None where no variable lists any, or not in a way that is known."""
    values = {name.decode(): value.decode("ascii", "replace").strip() for name, value in placing.items()}
    listed = _PROCLIST.search(values.get("KMP_AFFINITY", ""))
    if listed and "explicit" in values["KMP_AFFINITY"]:
        return listed[1] if _RANGES.match(listed[1]) else None
    if _RANGES.match(values.get("GOMP_CPU_AFFINITY", "")):
        return re.sub(r"[ ,]+", ",", values["GOMP_CPU_AFFINITY"])
    return _of_places(values.get("OMP_PLACES", ""))


def _of_places(text: str) -> str | None:
    """Return the cores of `{0:8}`, `{0:8:2}`, `{0,1},{2,3}`, and `{0:4}:8:4`: eight such places, four apart."""
    numbers: set[int] = set()
    at = 0
    while at < len(text):
        match = _PLACE.match(text, at)
        if match is None:
            return None
        first, count, stride, more, places, apart = match.groups()
        numbers_of = [int(first) + int(stride or 1) * index for index in range(min(int(count or 1), _MOST))]
        numbers_of += [int(number) for number in filter(None, (more or "").split(","))]
        for place in range(min(int(places or 1), _MOST)):
            numbers.update(number + place * int(apart or count or 1) for number in numbers_of)
        at = match.end()
    return ",".join(map(str, sorted(numbers))) if numbers else None


def entries(kind: str, text: str) -> list[Cpus]:
    """Return the numbers of each entry of a list; raises `ValueError` where one is none."""
    if kind == "list":  # `list:0,8,16,24` is also written for a core each
        return [topology.cores(entry) for entry in text.strip(":").split(":")] if ":" in text.strip(":") else []
    if kind in ("map_cpu", "map_ldom"):
        return [Cpus((int(entry, 0),)) for entry in _repeated(text)]
    return [_mask(entry) for entry in _repeated(text)] if kind in ("mask_cpu", "mask_ldom") else []


def _repeated(text: str) -> Iterator[str]:
    """Yield the entries of a list of srun, where `0xff*4` stands for four of them."""
    for entry in filter(None, text.split(",")):
        value, _, times = entry.partition("*")
        yield from [value] * min(int(times or 1), _MOST_ENTRIES)


def _mask(text: str) -> Cpus:
    number = int(text, 16)
    return Cpus(bit for bit in range(number.bit_length()) if number >> bit & 1)


def one_each(text: str) -> list[Cpus]:
    """Return Intel MPI's list of processors, of which tasks take one after the other; [] where it is none."""
    if not _LIST.fullmatch(text):
        return []
    return [Cpus((cpu,)) for part in text.split(",") for cpu in sorted(topology.cores(part))]


def of_hydra(text: str) -> list[Cpus]:
    """Return the sets of `0+1,2+3`, [] where it is no such list."""
    return [Cpus(map(int, entry.split("+"))) for entry in text.split(",")] if _SETS.fullmatch(text) else []
