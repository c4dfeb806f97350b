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
from itertools import compress
from operator import itemgetter

from .clocks import Clock, Moment

SOME = 400  # lines of a block that are looked at together
LABEL = 16  # bytes that a label may have
LEAST = 9
HEAD = itemgetter(slice(0, LEAST))  # bytes that tell most labels: what follows differs from line to line
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
    r"(?P<glog>[IWEF])(?P<day>\d{3,4}) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)\s+(?:(?P<pid>\d+) )?(?P<source>[^\]\s]+)"
    r"\][ ]?"
)
# behind a time: `W tensorflow/core/allocator.cc:101] ` of TensorFlow and XLA, `E 98551 98592] (raylet) agent.cc:134: `
# of Ray
_LETTERED = re.compile(
    r"(?P<glog_short>[IWEFDC]) (?:(?P<origin>[\w./+-]+\.(?:cc|cpp|cu|h|py)\w*:\d+)\][ ]?"
    r"|(?P<pid>\d+)(?: \d+)?\] (?:\(\w+\) )?(?:[\w./+-]+\.(?:cc|cpp|h|py):\d+: ?)?)"
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
          "C": "CRITICAL", "CRIT": "CRITICAL", "SEVERE": "ERROR", "TRACE": "DEBUG", "NOTICE": "INFO"}  # fmt: skip


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
        if (match := _NUMBERED.match(text)) is not None:
            numbers.append(match["rank"])
        elif text.startswith("[") and (match := _SQUARE.match(text)) is not None:
            squares.append(match["rank"])
        elif (match := _HOSTED.match(text)) is not None and not _NO_HOST.match(match["host"]):
            hosts[match["host"]] = hosts.get(match["host"], 0) + 1
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
    beginning = Prefix(start=int(text.startswith(" [")))
    for _ in range(7):
        start = _step(text, beginning, used, clock)
        if start == beginning.start:
            break
        beginning.start = start
    return beginning


def node_said(words: str) -> str:
    """Return the node that a scheduler's or launcher's message speaks of, "" for none."""
    match = _SLURM.search(words)
    return next((group for group in match.groups() if group), "") if match else ""


def rank_said(words: str) -> int | None:
    """Return the rank that such a message speaks of, None for none."""
    match = _RANK_SAID.search(words)
    return next((int(group) for group in match.groups() if group), None) if match else None


def bare(text: str, ranks: Collection[int] = ()) -> str:
    """Return the words of a cleaned line without rank, node, time and level before them.

    *ranks*: those that said it; only where one of these stands before the words is a bare number a label.
    """
    match = _NUMBERED.match(text)
    used = Labels(numbered=match is not None and int(match["rank"]) in ranks)
    return text[prefix(text, used, Clock()).start :]


def _step(text: str, prefix: Prefix, used: Labels, clock: Clock | None) -> int:
    """Return where the next words begin; the same place where nothing more is recognised."""
    start = prefix.start
    first = text[start : start + 1]
    if first == "[" and (label := _BRACKETED.match(text, start) or (used.square and _SQUARE.match(text, start))):
        return _taken(label, prefix, clock)
    if (first.isalpha() or first == "(") and (label := _worded(text, start, prefix, used)):
        return _taken(label, prefix, clock)
    if used.numbered and prefix.rank is None and (label := _NUMBERED.match(text, start)):
        return _taken(label, prefix, clock)
    if (
        clock is not None
        and prefix.moment is None
        and (first.isdigit() or first in "[ABCDEFGHIJKLMNOPQRSTUVWXYZ" and first)
    ):
        prefix.moment, end = clock.read(text, start)
        if end > start:
            return end
    return _level(text, start, prefix)


def _worded(text: str, start: int, prefix: Prefix, used: Labels) -> re.Match[str] | None:
    first = text[start]
    if first == "(":
        return _RAY.match(text, start) or _SPELLED.match(text, start)
    match = _GLOG.match(text, start) if first in "IWEF" else None
    match = match or (_LETTERED.match(text, start) if first in "IWEFDC" else None)
    match = match or (_SPELLED.match(text, start) if first in "rR" else None)
    match = match or _NCCL.match(text, start) or _PALS.match(text, start)
    if match is None and not prefix.node and (hosted := _HOSTED.match(text, start)):
        sure = prefix.moment is not None and _STRICT_HOST.match(hosted["host"])  # as syslog writes it
        return hosted if sure or hosted["host"] in used.hosts else None
    return match


def _taken(match: re.Match[str], prefix: Prefix, clock: Clock | None) -> int:
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    for name in ("rank", "tagged", "numbered"):
        if name in groups and prefix.rank is None:
            prefix.rank = int(groups[name])
    if match.re is _BRACKETED and "rank" in groups and "[" not in match.string[: match.start()]:
        prefix.rank = int(groups["rank"])  # torch's own; a number before it is that of the task
    if "local" in groups:
        prefix.local = int(groups["local"])
    if "device" in groups and prefix.local is None:
        prefix.local = int(groups["device"])
    prefix.node = prefix.node or groups.get("host", "")
    prefix.pid = prefix.pid or groups.get("pid", "")
    if "glog_short" in groups:  # the time stands before it, or nowhere
        prefix.level = prefix.level or LEVELS[groups["glog_short"].upper()]
    if "glog" in groups:
        prefix.level = prefix.level or LEVELS[groups["glog"].upper()]
        if clock is not None and prefix.moment is None:
            prefix.moment = clock.month_day(groups["day"], groups["clock"])
    return match.end()


def _level(text: str, start: int, prefix: Prefix) -> int:
    match = _LEVEL.match(text, start)
    if match is not None and match.end() > start:
        prefix.level = prefix.level or LEVELS.get(match["level"], match["level"])
        return match.end()
    if start and (match := _BETWEEN.match(text, start)):
        return match.end()
    return start


def bracketed(line: bytes) -> int | None:
    """Return the rank of `[rank3]: …`."""
    end = line.find(b"]", 5, 12) if line[:5] == b"[rank" else -1
    number = line[5 : max(5, end)]
    return int(number) if number.isdigit() else None


def numbered(line: bytes) -> int | None:
    """Return the number of `3: …`, `  12: …`."""
    match = _NUMBERED_BYTES.match(line)
    return int(match[1]) if match else None


def speaker(data: bytes, lines: Sequence[bytes]) -> Speaker | None:
    """Return what reads the labels of a block, None where its lines bear none of these two."""
    labelled = b"[" in data and b"[rank" in data  # mostly no, and the shorter one is found sooner
    if labelled and (data.startswith(b"[rank") or b"\n[rank" in data):
        return bracketed
    some = lines[:: max(1, len(lines) // 8)]
    return numbered if some and 2 * sum(numbered(line) is not None for line in some) >= len(some) else None


def ranks(lines: Sequence[bytes], rank_of: Speaker) -> set[int]:
    """Return all ranks that say one of *lines*."""
    return set(last_rows(lines, rank_of))


def last_rows(lines: Sequence[bytes], rank_of: Speaker) -> dict[int, int]:
    """Return the last row of each rank that speaks in a block, by how its lines begin."""
    last = _last(list(map(HEAD, lines)))
    unsure = {head for head in last if _unsure(head)}
    if unsure:
        later = compress(range(len(lines)), map(unsure.__contains__, map(HEAD, lines)))
        last = {head: row for head, row in last.items() if head not in unsure}
        last.update((lines[row][:LABEL], row) for row in later)
    rows: dict[int, int] = {}
    for label, row in last.items():
        rank = rank_of(label)
        if rank is not None:
            rows[rank] = max(row, rows.get(rank, row))
    return rows


def _last(heads: list[bytes]) -> dict[bytes, int]:
    """Return where each of *heads* stands last, some at a time from the end, where most are."""
    begins: dict[bytes, int] = {}
    heads.reverse()
    for begin in range(0, len(heads), SOME):
        some = heads[begin : begin + SOME]
        begins.update({head: begin + some.index(head) for head in set(some).difference(begins)})
    return {head: len(heads) - 1 - at for head, at in begins.items()}


def _unsure(head: bytes) -> bool:
    """Return whether a label may go on behind *head*."""
    if len(head) < LEAST:
        return False
    return head[:5] == b"[rank" and b"]" not in head or not head.strip(b" 0123456789:")
