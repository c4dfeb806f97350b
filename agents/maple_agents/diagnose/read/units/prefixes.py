"""What stands before the words of a line: rank, node, time, level, source. It never hides the words.

Forms: `[rank3]:` of torch, `3: ` of `srun -l`, `[3]` of Hydra, `[1,3]<stderr>:` of Open MPI, `host 3: ` of PALS,
`[default0]:` of torchrun's --tee, glog's `E1121 00:41:37.177000 8482 api.py:1002] `, NCCL's `host:pid:tid [0] `,
syslog, Ray's `(name pid=7, ip=…)`, the usual loggers of Python, and any of them behind each other.

Which rank says a line, by the two usual labels at its beginning, and which rank was heard last where in a block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from .clocks import Clock, Moment

NEAR = 400  # lines at the end of a block that are looked at one by one before others are
LABEL = 16  # bytes that a label may have
HEAD = itemgetter(slice(0, 9))  # bytes that tell most labels: what follows differs from line to line
_NUMBERED_BYTES = re.compile(rb" {0,6}(\d{1,6}): ?(?:\D|$)")
Speaker = Callable[[bytes], int | None]

HOST = r"[A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*"
_BRACKETED = re.compile(
    r"\[rank[ :_=]*(?P<rank>\d{1,6})\]:?[ ]?"
    r"|\[(?:[\w.-]+@)?\d+,(?P<tagged>\d{1,6})\](?:<\w+>)?:"
    r"|\[(?P<numbered>\d{1,6})\]<std\w+>:?"
    r"|\[(?:default|worker|trainer|agent|role|proc|local_rank)[ :_=]?(?P<local>\d{1,4})\](?::|[ ])"
    r"|\[(?P<glog>[IWEFD])(?P<day>\d{3,4}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) (?P<source>[^\]\s]+)\][ ]?"
    r"|\[(?P<glog_short>[IWEFD]) (?P<origin>[\w./-]+:\d+)\][ ]?"
    rf"|\[(?P<host>{HOST}|localhost):(?P<pid>\d+)(?::\d+)?\](?::|[ ])?"
    r"|\[(?:[\w/.-]+\.(?:py|cpp|cc|cu|h|hpp)|[\w.]+):\d+(?::[\w<>.]+)*\][ ]?"
    r"|\[c10d\][ ]?",
    re.I,
)
_GLOG = re.compile(
    r"(?P<glog>[IWEF])(?P<day>\d{3,4}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)\s+(?P<pid>\d+) (?P<source>[^\]\s]+)\][ ]?"
)
_SPELLED = re.compile(r"\(?rank[ _]?(?P<rank>\d{1,6})(?:\)?:[ ]|\)[ ])", re.I)
_NCCL = re.compile(rf"(?P<host>{HOST}|localhost):(?P<pid>\d+):\d+ (?:\[(?P<device>\d+)\] )?")
_RAY = re.compile(r"\([\w.:]+ pid=(?P<pid>\d+)(?:, ip=(?P<host>[\w.:-]+))?\)[ ]?")
_PALS = re.compile(rf"(?P<host>{HOST}) (?P<rank>\d{{1,6}}): ?")
_NUMBERED = re.compile(r"\s{0,6}(?P<rank>\d{1,6}): ?(?=\D|$)")
_SQUARE = re.compile(r"\[(?P<rank>\d{1,6})\]:? ?")
_HOSTED = re.compile(rf"(?P<host>{HOST}): ?")
_LEVEL = re.compile(
    r"(?:\[|<|\(|\|CCL_|\|)?(?<![A-Za-z])(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE)"
    r"(?![A-Za-z0-9_])(?:\]|>|\)|\|)?(?: ?[|-] ?| ?:[ ]*|[ ]*)"  # behind a dash may be an indentation
)
_BETWEEN = re.compile(r"[-|,:]+ |std(?:out|err) [FP] ")  # or as containers' logs say it behind the time
_NO_HOST = re.compile(
    r"(?:python|pip|perl|gcc|g\+\+|cc1|f95|gfortran|clang|nvcc|ld|lib|cuda|mpi|x86|h5|bash|slurm|sm_|utf|gpt)\S*", re.I
)
_STRICT_HOST = re.compile(
    r"(?:x\d+c\d+s\d+b\d+n\d+|nid\d+|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-\d+|[a-z]+\d{3,})(?:\.|$)", re.I
)
_SLURM = re.compile(
    rf"srun: error: (?P<srun>{HOST}|localhost): task|slurmstepd-(?P<daemon>[\w.-]+?): |\bON (?P<on>[\w.-]+) CANCELLED"
    r"|\b(?:[Tt]ask|[Pp]rocess) \d+ on (?:node |host )?(?P<task>[A-Za-z][\w.-]*\d)\b"
    r"|\bnode (?P<node>[A-Za-z][\w.-]*\d)\b|RUNNING AT (?P<at>[\w.@-]+)"
)
_RANK_SAID = re.compile(
    r"\brank (\d{1,6})(?: \([^)]*\))?,? (?:died|exited|failed|terminated|with PID|on node|aborted|was killed)"
    r"|\bRANK (\d{1,6}) PID |\(rank (\d{1,6}) in comm 0\)|\[Rank (\d{1,6})\]"
)
LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "D": "DEBUG", "WARN": "WARNING", "ERR": "ERROR",
          "CRIT": "CRITICAL", "SEVERE": "ERROR", "TRACE": "DEBUG", "NOTICE": "INFO"}  # fmt: skip


@dataclass(slots=True)
class Prefix:
    """What was told before the words. *local*: a number among the processes of one node. *voice*: whose lines belong
    together. *start*: where the words begin in the line.
    """

    rank: int | None = None
    local: int | None = None
    node: str = ""
    pid: str = ""
    moment: Moment | None = None
    level: str = ""
    start: int = 0

    @property
    def voice(self) -> tuple[int | None, int | None, str]:
        return self.rank, self.local, self.pid


@dataclass(frozen=True, slots=True)
class Labels:
    """Which labels a stream uses that elsewhere would be words: bare numbers, numbers in brackets, these hosts."""

    numbered: bool = False
    square: bool = False
    hosts: frozenset[str] = frozenset()
    pals: bool = False

    @property
    def any(self) -> bool:
        return bool(self.numbered or self.square or self.hosts or self.pals)


def labels(texts: Iterable[str]) -> Labels:
    """Return the labels in use, by how many lines bear them."""
    lines, numbers, squares, hosts, pals = 0, [], [], dict[str, int](), 0
    for text in texts:
        if not text.strip():
            continue
        lines += 1
        if (found := _NUMBERED.match(text)) is not None:
            numbers.append(found["rank"])
        elif text.startswith("[") and (found := _SQUARE.match(text)) is not None:
            squares.append(found["rank"])
        elif (found := _HOSTED.match(text)) is not None and not _NO_HOST.match(found["host"]):
            hosts[found["host"]] = hosts.get(found["host"], 0) + 1
        elif text[:1].isalpha() and _PALS.match(text):
            pals += 1
    sure = frozenset(host for host, seen in hosts.items() if _STRICT_HOST.match(host) or seen >= max(3, lines // 10))
    return Labels(_used(numbers, lines), _used(squares, lines), sure, pals > 0)


def _used(numbers: list[str], lines: int) -> bool:
    """Several numbers on a good part of the lines, or one number on nearly all."""
    least = 0.3 if len(set(numbers)) > 1 else 0.8
    return len(numbers) >= max(3, least * lines)


def prefix(text: str, used: Labels, clock: Clock | None) -> Prefix:
    """Return what is told before the words of *text*, as long as something is recognised; times for a *clock* only."""
    told = Prefix(start=int(text.startswith(" [")))
    for _ in range(7):
        start = _step(text, told, used, clock)
        if start == told.start:
            break
        told.start = start
    return told


def node_said(words: str) -> str:
    """Return the node that a scheduler's or launcher's message speaks of, "" for none."""
    found = _SLURM.search(words)
    return next((one for one in found.groups() if one), "") if found else ""


def rank_said(words: str) -> int | None:
    """Return the rank that such a message speaks of, None for none."""
    found = _RANK_SAID.search(words)
    return next((int(one) for one in found.groups() if one), None) if found else None


def bare(text: str, ranks: Collection[int] = ()) -> str:
    """Return the words of a cleaned line without rank, node, time and level before them.

    *ranks*: those that said it; only where one of these stands before the words is a bare number a label.
    """
    found = _NUMBERED.match(text)
    used = Labels(numbered=found is not None and int(found["rank"]) in ranks)
    return text[prefix(text, used, Clock()).start :]


def _step(text: str, told: Prefix, used: Labels, clock: Clock | None) -> int:
    """Return where the next words begin; the same place where nothing more is recognised."""
    start = told.start
    first = text[start : start + 1]
    if first == "[" and (found := _BRACKETED.match(text, start) or (used.square and _SQUARE.match(text, start))):
        return _taken(found, told, clock)
    if (first.isalpha() or first == "(") and (found := _worded(text, start, told, used)):
        return _taken(found, told, clock)
    if used.numbered and told.rank is None and (found := _NUMBERED.match(text, start)):
        return _taken(found, told, clock)
    if (
        clock is not None
        and told.moment is None
        and (first.isdigit() or first in "[ABCDEFGHIJKLMNOPQRSTUVWXYZ" and first)
    ):
        told.moment, end = clock.read(text, start)
        if end > start:
            return end
    return _level(text, start, told)


def _worded(text: str, start: int, told: Prefix, used: Labels) -> re.Match[str] | None:
    first = text[start]
    if first == "(":
        return _RAY.match(text, start) or _SPELLED.match(text, start)
    found = _GLOG.match(text, start) if first in "IWEF" else None
    found = found or (_SPELLED.match(text, start) if first in "rR" else None)
    found = found or _NCCL.match(text, start) or _PALS.match(text, start)
    if found is None and not told.node and (hosted := _HOSTED.match(text, start)):
        sure = told.moment is not None and _STRICT_HOST.match(hosted["host"])  # as syslog writes it
        return hosted if sure or hosted["host"] in used.hosts else None
    return found


def _taken(found: re.Match[str], told: Prefix, clock: Clock | None) -> int:
    groups = {name: value for name, value in found.groupdict().items() if value is not None}
    for name in ("rank", "tagged", "numbered"):
        if name in groups and told.rank is None:
            told.rank = int(groups[name])
    if found.re is _BRACKETED and "rank" in groups and "[" not in found.string[: found.start()]:
        told.rank = int(groups["rank"])  # torch's own; a number before it is that of the task
    if "local" in groups:
        told.local = int(groups["local"])
    if "device" in groups and told.local is None:
        told.local = int(groups["device"])
    told.node = told.node or groups.get("host", "")
    told.pid = told.pid or groups.get("pid", "")
    if "glog_short" in groups:  # older releases tell no time
        told.level = told.level or LEVELS[groups["glog_short"].upper()]
    if "glog" in groups:
        told.level = told.level or LEVELS[groups["glog"].upper()]
        if clock is not None and told.moment is None:
            told.moment = clock.month_day(groups["day"], groups["clock"])
    return found.end()


def _level(text: str, start: int, told: Prefix) -> int:
    found = _LEVEL.match(text, start)
    if found is not None and found.end() > start:
        told.level = told.level or LEVELS.get(found["level"], found["level"])
        return found.end()
    if start and (found := _BETWEEN.match(text, start)):
        return found.end()
    return start


def bracketed(line: bytes) -> int | None:
    """Return the rank of `[rank3]: …`."""
    end = line.find(b"]", 5, 12) if line[:5] == b"[rank" else -1
    number = line[5 : max(5, end)]
    return int(number) if number.isdigit() else None


def numbered(line: bytes) -> int | None:
    """Return the number of `3: …`, `  12: …`."""
    found = _NUMBERED_BYTES.match(line)
    return int(found[1]) if found else None


def speaker(data: bytes, lines: Sequence[bytes]) -> Speaker | None:
    """Return what reads the labels of a block, None where its lines bear none of these two."""
    labelled = b"[" in data and b"[rank" in data  # mostly no, and the shorter one is found sooner
    if labelled and (data.startswith(b"[rank") or b"\n[rank" in data):
        return bracketed
    some = lines[:: max(1, len(lines) // 8)]
    return numbered if some and 2 * sum(numbered(one) is not None for one in some) >= len(some) else None


def ranks(lines: Sequence[bytes], rank_of: Speaker) -> set[int]:
    """Return all ranks that say one of *lines*."""
    heads = set(map(HEAD, lines))
    unsure = {head for head in heads if _unsure(head)}
    labels = heads - unsure
    if unsure:
        labels |= {line[:LABEL] for line in lines if HEAD(line) in unsure}
    return {rank for one in labels if (rank := rank_of(one)) is not None}


def _unsure(head: bytes) -> bool:
    """Return whether a label may go on behind *head*."""
    return head[:5] == b"[rank" and b"]" not in head or not head.strip(b" 0123456789:")


def last_rows(lines: Sequence[bytes], rank_of: Speaker) -> dict[int, int]:
    """Return the last row of each rank that speaks in a block.

    Lines are looked at from the end; all of them only where a rank is silent from there on.
    """
    found: dict[int, int] = {}
    heard, end, near = ranks(lines, rank_of), len(lines), NEAR
    while len(found) < len(heard) and end:
        begin = max(0, end - near)
        _listen(lines, rank_of, found, end, begin)
        end, near = begin, near * 4
    return found


def _listen(lines: Sequence[bytes], rank_of: Speaker, found: dict[int, int], end: int, begin: int) -> None:
    for row in range(end - 1, begin - 1, -1):
        rank = rank_of(lines[row])
        if rank is not None and rank not in found:
            found[rank] = row
