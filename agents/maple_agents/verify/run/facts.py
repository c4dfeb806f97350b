"""What ranks said: read from their files, or from the lines on the job's output, and never trusted to be whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PREFIX = b"MAPLE-FACTS "
MOST = 64 * 1024  # bytes of one rank's file
FILES = 20_000  # of one entry


@dataclass(frozen=True)
class Fact:
    """What one process of a mini-app said of itself. None, or empty: it did not say.

    *ok* None: it was killed, or still runs. *told* has the whole of it; its shape is miniapps' facts.schema.json.
    """

    miniapp: str
    host: str
    pid: int
    started_at: float
    rank: int | None = None
    world_size: int | None = None
    local_rank: int | None = None
    master_addr: str | None = None
    master_port: int | None = None
    phase: str = ""
    ok: bool | None = None
    error: str = ""  # class of the error, "" none
    says: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int, float]:
        """Return what tells this process from every other."""
        return self.miniapp, self.host, self.pid, self.started_at

    @property
    def who(self) -> str:
        """Return the process in words."""
        return f"rank {self.rank} on {self.host}" if self.rank is not None else f"a process on {self.host}"

    @property
    def from_variable(self) -> str | None:
        """Return the variable that the rank was read from."""
        return _text(_table(self.told, "from").get("rank"))

    @property
    def group_world(self) -> int | None:
        """Return how many ranks came together, as the process group itself says."""
        return _whole(_table(self.told, "group").get("world_size"))

    @property
    def seconds(self) -> float:
        """Return how long the process has taken."""
        return _number(_table(self.told, "seconds").get("total")) or 0.0

    @property
    def ended_at(self) -> float:
        """Return when it ended, by its host's clock."""
        return self.started_at + self.seconds

    def table(self, name: str) -> Mapping[str, Any]:
        """Return a table of the facts, empty where there is none."""
        return _table(self.told, name)

    def rates(self) -> dict[str, int]:
        """Return the bytes a second over a link, of each collective at its largest size."""
        largest: dict[str, tuple[int, int]] = {}
        collectives = self.told.get("collectives")
        for collective in collectives if isinstance(collectives, list) else []:
            if isinstance(collective, dict):
                name, size, rate = (
                    _text(collective.get("name")),
                    _whole(collective.get("bytes")),
                    _whole(collective.get("bytes_per_second")),
                )
                if name and size and rate and size >= largest.get(name, (0, 0))[0]:
                    largest[name] = (size, rate)
        return {name: rate for name, (_, rate) in largest.items()}

    def visible(self) -> tuple[str, ...] | None:
        """Return the devices that the variables show the process, None where none is set."""
        shown = _table(_table(self.told, "machine"), "visible_devices")
        for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"):
            if isinstance(shown.get(name), str):
                return tuple(part.strip() for part in shown[name].split(",") if part.strip())
        return None

    def cpus(self) -> frozenset[int]:
        """Return the CPUs that the process may use."""
        text = _text(_table(self.told, "machine").get("cpus")) or ""
        numbers: set[int] = set()
        for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text[:4000]):
            numbers.update(range(int(first), min(int(last or first), int(first) + 4096) + 1))
        return frozenset(numbers)


def fact_of(row: object) -> Fact | None:
    """Return the fact that parsed JSON is, None where it is none."""
    if not isinstance(row, dict) or row.get("schema") != 1:
        return None
    miniapp, host, pid = _text(row.get("miniapp")), _text(row.get("host")), _whole(row.get("pid"))
    if not miniapp or host is None or pid is None:
        return None
    error = _table(row, "error")
    ok = row.get("ok")
    return Fact(
        miniapp,
        host,
        pid,
        _number(row.get("started_at")) or 0.0,
        _whole(row.get("rank")),
        _whole(row.get("world_size")),
        _whole(row.get("local_rank")),
        _text(row.get("master_addr")),
        _whole(row.get("master_port")),
        _text(row.get("phase")) or "",
        ok if isinstance(ok, bool) else None,
        _text(error.get("class")) or "",
        _text(error.get("says")) or "",
        row,
    )


class Inbox:
    """The facts of one entry's folder. A file that is final is read once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._final: dict[str, Fact] = {}
        self._open: dict[str, Fact] = {}

    def look(self) -> list[Fact]:
        """Read what is new, and return all that is there."""
        for name in _names(self._folder):
            if name not in self._final:
                fact = _read(os.path.join(self._folder, name))
                if fact is not None:
                    (self._open if fact.ok is None else self._final)[name] = fact
        return [*self._final.values(), *(fact for name, fact in self._open.items() if name not in self._final)]


def from_output(output: bytes) -> list[Fact]:
    """Return the facts on a job's output; what launchers put before a line (`0: `, `[rank0]: `) is passed over."""
    facts = []
    for line in output.split(b"\n"):
        _, prefix, rest = line.partition(PREFIX)
        fact = _parsed(rest) if prefix and len(rest) < MOST else None
        if fact is not None:
            facts.append(fact)
    return facts


def merged(filed: Iterable[Fact], printed: Iterable[Fact]) -> list[Fact]:
    """Return every process once; of a file and a line the one that says how it ended, then the file."""
    latest = {fact.key: fact for fact in filed}
    for fact in printed:
        known = latest.get(fact.key)
        if known is None or (known.ok is None and fact.ok is not None):
            latest[fact.key] = fact
    return sorted(latest.values(), key=lambda fact: (fact.rank is None, fact.rank or 0, fact.host, fact.started_at))


def _names(folder: str) -> list[str]:
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
    except OSError:
        return []
    return sorted(names)[:FILES]


def _read(path: str) -> Fact | None:
    try:
        with open(path, "rb") as file:
            return _parsed(file.read(MOST))
    except OSError:
        return None


def _parsed(text: bytes) -> Fact | None:
    try:
        return fact_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _table(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = row.get(name)
    return table if isinstance(table, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 60 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
