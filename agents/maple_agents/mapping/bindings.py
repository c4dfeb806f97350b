"""Which cores each rank of a node is bound to, where a launch line lists them, and what is wrong with that.

Also where `taskset -c` or `numactl -C` in front of a program gives each task its cores, by its local number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.types.launch_plan import Step

from .placement import Placement
from .topology import Hardware, cores

_NUMBER = r"(?:\d{1,4}|\$\(\([^()]*\)\)|\$\w+|\$\{\w+\})"
_RANGE = rf"{_NUMBER}(?:-{_NUMBER})?"
_PIN = re.compile(
    r"(?:\btaskset\s+(?:-a\s+)?(?:-c|-ac|--cpu-list)|\bnumactl\s+(?:-\S+\s+)*?(?:-C|--physcpubind))[\s=]+"
    rf"(?P<cores>{_RANGE}(?:,{_RANGE})*)(?=\s)"
)
_SET = re.compile(rf"(?<![\w$-])([A-Za-z_]\w*)=({_NUMBER}(?=[\s;]|\Z)|[^\s;]*)")
_PART = re.compile(_NUMBER)
_TERMS = re.compile(r"\s*(?:\d{1,6}|[-+*/%]|\$?\w+)")
_BRANCHES = re.compile(
    r"\b(?:if|case|for|while|until|select|function|eval|let|read|declare)\b|&&|\|\||\+=|(?<!\$)\(\(", re.S
)
LOCAL = ("SLURM_LOCALID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_LIST = re.compile(r"(?:v(?:erbose)?,|q(?:uiet)?,)?(list|map_cpu|mask_cpu):([0-9a-fA-Fx,:*-]+)\Z")


def pin_words(line: str) -> str:
    """Return the words that pin, "" where none do, or several."""
    pins = list(_PIN.finditer(line))
    return pins[0][0].strip() if len(pins) == 1 else ""


def cores_of_pin(line: str, local: int, names: tuple[str, ...] = LOCAL) -> str | None:
    """Return the list of cores of a local task, None where a value is not known or a branch may change it."""
    match = _PIN.search(line)
    if match is None or not pin_words(line) or _BRANCHES.search(line):
        return None
    if "$" in match["cores"] and line.count("'", 0, match.start()) % 2 == 0:
        return None  # the batch shell fills it in, not the task's
    known = dict.fromkeys(names, local)
    for setting in _SET.finditer(line, 0, match.start()):
        value = _value(setting[2], known) if re.fullmatch(_NUMBER, setting[2]) else None
        known.pop(setting[1], None)
        if value is not None:
            known[setting[1]] = value
    values = [_value(part, known) for part in _PART.findall(match["cores"])]
    if None in values:
        return None
    rest = iter(values)
    return _PART.sub(lambda _: str(next(rest)), match["cores"])


def _value(text: str, known: dict[str, int]) -> int | None:
    """Return what a number, a variable or sums and products of these in `$((...))` come to."""
    inner = text[3:-2] if text.startswith("$((") else text.strip("${}")
    terms = [term.strip() for term in _TERMS.findall(inner)]
    if "".join(terms) != re.sub(r"\s", "", inner) or len(terms) % 2 == 0:
        return None
    numbers = [int(term) if term.isdigit() else known.get(term.lstrip("$")) for term in terms[::2]]
    total, product, sign = 0, numbers[0], 1
    for sort, number in zip(terms[1::2], numbers[1:]):
        if product is None or number is None or sort not in "+-*/%" or sort in "/%" and number == 0:
            return None
        if sort in "+-":
            total, product, sign = total + sign * product, number, 1 if sort == "+" else -1
        else:
            product = product * number if sort == "*" else product // number if sort == "/" else product % number
    return total + sign * product if product is not None and total + sign * product >= 0 else None


class Binding(NamedTuple):
    """*of*: the cores of each rank of a node, by local rank. *said*: as it is written. *alike*: all have the same.

    *share*: CPUs that one rank asks for, 0 not known.
    """

    of: tuple[frozenset[int], ...]
    said: str
    alike: bool = False
    share: int = 0


class Flaw(NamedTuple):
    """*kind*: "shared" or "far". *ranks*: the local ranks that it is about. *says*: a sentence."""

    kind: str
    ranks: tuple[int, ...]
    says: str


def binding(step: Step, placed: Placement, source: bytes) -> Binding | None:
    """Return the cores that a launch line lists for its ranks, None where it leaves them to the launcher."""
    each = placed.per_node
    if not each:
        return None
    for link in step.links:
        option = link.option("cpu-bind")
        text = option.value.raw.decode("ascii", "replace") if option is not None and option.value is not None else ""
        match = _LIST.match(text)
        if match is not None and option is not None:
            listed = _listed(match[1], match[2])
            words = f"--{option.name}={text}"
            return Binding(tuple(listed[rank % len(listed)] for rank in range(each)), words) if listed else None
    return _by_pin(source[step.span.start : step.span.end].decode("utf-8", "replace"), step, each)


def _listed(kind: str, text: str) -> list[frozenset[int]]:
    """Return the entries of `map_cpu:0,8`, `mask_cpu:0xff,0xff00` or PALS' `list:0-7:8-15`."""
    try:
        if kind == "list" and ":" not in text.strip(":"):
            return []  # `list:0,8,16,24` is also written for a core each
        if kind == "list":
            return [cores(entry) for entry in text.strip(":").split(":")]
        if kind == "map_cpu":
            return [frozenset((int(entry, 0),)) for entry in _repeated(text)]
        return [_mask(entry) for entry in _repeated(text)]
    except ValueError:
        return []


def _repeated(text: str) -> Iterator[str]:
    """Yield the entries of a list of srun, where `0xff*4` stands for four of them."""
    for entry in filter(None, text.split(",")):
        value, _, times = entry.partition("*")
        yield from [value] * min(int(times or 1), 1024)


def _mask(text: str) -> frozenset[int]:
    number = int(text, 16)
    return frozenset(bit for bit in range(number.bit_length()) if number >> bit & 1)


def _by_pin(line: str, step: Step, each: int) -> Binding | None:
    """Return the cores that words in front of the program give each rank; an agent's hold for all its workers."""
    agent = step.workers_per_task is not None or step.links[-1].name in AGENTS
    listed = [cores_of_pin(line, local, () if agent else LOCAL) for local in range(each)]
    try:
        of = tuple(cores(listing) for listing in listed if listing is not None)
    except ValueError:
        return None
    if len(of) < each:
        return None
    alike = len(set(of)) == 1
    share = min((process.cpus or 0 for process in step.groups[0].processes), default=0) if not agent else 0
    return Binding(of, pin_words(line), alike, share)


def flaws(bound: Binding, placed: Placement, hardware: Hardware) -> Iterator[Flaw]:
    """Yield ranks that share cores, and ranks whose cores are near another GPU than their own."""
    shared = _shared(bound)
    if shared is not None:
        yield shared
    elif not bound.alike:
        yield from _far(bound, placed, hardware)


def _shared(bound: Binding) -> Flaw | None:
    for local, first in enumerate(bound.of):
        others = [rank for rank, listed in enumerate(bound.of) if rank != local and listed & first]
        if first and others and (not bound.alike or len(first) < len(bound.of) or len(first) <= bound.share):
            ranks = (local, *others)
            common = sorted(first & bound.of[others[0]])
            return Flaw("shared", ranks, f"local ranks {_some(ranks)} are bound to the same cores ({_some(common)})")
    return None


def _far(bound: Binding, placed: Placement, hardware: Hardware) -> Iterator[Flaw]:
    """Yield one flaw with every rank of a node that is bound near another GPU, and not near its own."""
    near = hardware.near
    seats = [seat for seat in placed.seats if seat.node == 0]  # by rank, and so by task; all may call themselves 0
    gpus = dict(enumerate(seat.gpu for seat in seats))
    if len({seat.local for seat in seats}) == len(seats):
        gpus = {seat.local: seat.gpu for seat in seats}
    known = len(near) > 1 and len(set(near)) > 1
    far = []
    for local, listed in enumerate(bound.of if known else ()):
        gpu = gpus.get(local)
        own = near[gpu] if gpu is not None and gpu < len(near) else frozenset()
        folded = _folded(listed, hardware)
        if own and folded and not folded & own and any(folded <= other for other in near):
            far.append((local, gpu, folded))
    if far:
        local, gpu, folded = far[0]
        closest = next(index for index, other in enumerate(near) if folded <= other)
        says = f"local rank {local} drives GPU {gpu}, and is bound to cores near GPU {closest}"
        more = f"; {len(far)} of {len(bound.of)} ranks of a node are" if len(far) > 1 else ""
        yield Flaw("far", tuple(rank for rank, _, _ in far), says + more)


def _folded(listed: frozenset[int], hardware: Hardware) -> frozenset[int]:
    """Return cores for CPUs: the second thread of core c is numbered c plus all cores (Linux, on the sites known)."""
    count = hardware.cores or 0
    return frozenset(cpu % count for cpu in listed) if count else listed


def nearest(placed: Placement, hardware: Hardware) -> str:
    """Return the list of PALS that binds each rank of a node near its GPU, "" where that is not known."""
    near = hardware.near
    gpus = [seat.gpu for seat in placed.seats if seat.node == 0]
    if not near or any(gpu is None or gpu >= len(near) for gpu in gpus) or len(set(gpus)) < len(gpus):
        return ""
    return ":".join(_some(sorted(near[gpu])) for gpu in gpus if gpu is not None)


def _some(numbers: tuple[int, ...] | list[int]) -> str:
    """Return numbers as `0-7,16`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)
