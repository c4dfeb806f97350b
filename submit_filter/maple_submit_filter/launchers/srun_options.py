"""srun's options (Slurm 20.11 to 25.11, from its manual page): long name, short name, whether a value follows.

And the file of `--multi-prog`: which task runs which program (srun(1), "Multiple Program Configuration").
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

from ..play.outputs import lines
from ..types.text import Text, plain
from .grammar import GETOPT, Table, table

_VALUES = """
-A --account|--acctg-freq|--accel-bind|--bb|--bbf|--bcast-exclude|-b --begin|-D --chdir|--cluster-constraint
-M --clusters|--comment|-C --constraint|--container|--container-id|--cores-per-socket
--cpu-freq|-c --cpus-per-task|--cpus-per-gpu|--deadline|--delay-boot|-d --dependency|-m --distribution|--environment
--epilog|-e --error|-x --exclude|--export|--extra|-B --extra-node-info|--gid|--gpu-bind|--gpu-freq|-G --gpus
--gpus-per-node|--gpus-per-socket|--gpus-per-task|--gres|--gres-flags|--het-group|--hint|-i --input|-J --job-name
--jobid|-L --licenses|--mail-type|--mail-user|--mcs-label|--mem|--mem-bind|--mem-per-cpu|--mem-per-gpu|--mincpus
--mpi|--msg-timeout|--multi-prog-file|--network|-w --nodelist|-F --nodefile|-N --nodes|-n --ntasks
--ntasks-per-core|--ntasks-per-gpu|--ntasks-per-socket|--ntasks-per-tres|--open-mode|-o --output
-p --partition|--power|--prefer|--priority|--profile|--prolog|-q --qos|-r --relative|--reservation
--segment|--signal|--slurmd-debug|--sockets-per-node|--switches|--task-epilog|--task-prolog
--thread-spec|--threads-per-core|-t --time|--time-min|--tmp|--tres-bind|--tres-per-task|--tree-width
-W --wait|--wckey|--container-image|--container-name|--container-mounts|--container-workdir
--container-save|--container-env|--ntasks-per-tres|--stepmgr-node
"""  # the --container-image family belongs to the pyxis plug-in
_FLAGS = """
--contiguous|-E --preserve-env|--exact|-h --help|-H --hold|--interactive|-l --label
-s --oversubscribe|--overlap|--pty|-Q --quiet|--quit-on-interrupt|--reboot|-k --no-kill|-Z --no-allocate
-u --unbuffered|--usage|--use-min-nodes|-v --verbose|-V --version
--container-mount-home|--no-container-mount-home|--container-remap-root|--no-container-remap-root|--container-entrypoint
--no-container-entrypoint|--container-writable|--container-readonly|--multi-prog|--whole|--stepmgr
"""
_GLUED = """
--exclusive|-K --kill-on-bad-exit|--nice|--propagate|--bcast|-I --immediate|--resv-ports|--x11|--spread-job
--send-libs|--compress
"""
_FIELD = re.compile(rb"[^ \t]+")
_RANGE = re.compile(rb"(\d{1,6})(?:-(\d{1,6}))?\Z")


def _rows(names: str, values: str) -> str:
    parts = [part.strip() for line in names.splitlines() for part in line.split("|") if part.strip()]
    return "\n".join(part + " " + values for part in parts)


_AS_LONG = """
--cpu-bind --cpu_bind 1
--ntasks-per-node --tasks-per-node 1
-S --core-spec 1
-T --threads 1
-X --disable-status 0
-O --overcommit 0
"""

TABLE: Table = table(
    "srun",
    GETOPT,
    "\n".join((_rows(_FLAGS, "0"), _rows(_VALUES, "1"), _rows(_GLUED, "?"), _AS_LONG)),
)


class Row(NamedTuple):
    """A line: first and last numbers of its tasks, () for all others (`*`), and the words of its program."""

    ranges: Tuple[Tuple[int, int], ...]
    words: Tuple[Text, ...]


def rows(content: Text) -> Optional[List[Row]]:
    """Return the lines of a file, None where one is not understood."""
    out: List[Row] = []
    for line in lines(content):
        fields = [line.slice(*match.span()) for match in _FIELD.finditer(line.raw)]
        if not fields or fields[0].raw.startswith(b"#"):
            continue
        ranges = _ranges(fields[0].raw)
        if ranges is None or len(fields) < 2 or line.open:
            return None
        out.append(Row(ranges, tuple(fields[1:])))
    return out


def _ranges(text: bytes) -> Optional[Tuple[Tuple[int, int], ...]]:
    if text == b"*":
        return ()
    matches = [_RANGE.match(part) for part in text.split(b",")]
    return (
        tuple((int(match.group(1)), int(match.group(2) or match.group(1))) for match in matches if match)
        if all(matches)
        else None
    )


def program_of(many: List[Row], task: int) -> Optional[List[Text]]:
    """Return the program of a task, None where no line names it: then srun ends with "no record for task id".

    %t stands for the task's number, %o for its place in the line's own range.
    """
    for row in many:
        offset = _offset(row, task)
        if offset is not None:
            return [_for_task(word, task, offset) for word in row.words]
    return None


def differ(many: List[Row]) -> bool:
    """Return whether the lines start different programs: a step has one, and its ranks are of one world."""
    return len({_file(row) for row in many}) > 1


def _file(row: Row) -> bytes:
    """Return the script of a line, the command itself where it names none."""
    return next((word.raw for word in row.words if word.raw.endswith((b".py", b".sh"))), row.words[0].raw)


def _offset(row: Row, task: int) -> Optional[int]:
    before = 0
    for low, high in row.ranges:
        if low <= task <= high:
            return before + task - low
        before += high - low + 1
    return None if row.ranges else task


def _for_task(word: Text, task: int, offset: int) -> Text:
    raw = word.raw
    if b"%t" not in raw and b"%o" not in raw:
        return word
    return plain(raw.replace(b"%t", b"%d" % task).replace(b"%o", b"%d" % offset))
