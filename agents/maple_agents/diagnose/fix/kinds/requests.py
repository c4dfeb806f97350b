"""What a job asks for, where its program or its launcher found too little: GPUs, and places for processes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.rules.limits import asks_for_gpus
from maple_submit_filter.types.edits import Fix

from ..registry import Given, fix
from .directives import with_option
from .insertion import PlainWord, plain_words

_NONE = re.compile(
    r"(?i)no (?:cuda|hip|gpu|xpu)\S*(?: gpus?| devices?)? .{0,20}(?:available|detected|found)|no cuda-capable device|"
    r"is_available\(\) is False|(?:cuda|gpu)s? (?:is|are) not available|requires a GPU|ErrorNoDevice|ERROR_NO_DEVICE"
)
_FORM = re.compile(r"--([a-z][a-z-]*)=([\w:{}]+)\Z")
_RANKS = re.compile(r"--nproc[-_]per[-_]node(?:=(\d{1,2}))?\Z")
_MPI = ("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra")
_COUNT = ("-n", "-np", "--np", "-c", "--n")
_HOSTS = re.compile(r"--?(?:H|host|hosts|hostfile|machinefile|f|map-by|ppn|N|npernode|rankfile)\b")


@fix("request-gpus")
def request_gpus(given: Given) -> Fix | None:
    """Ask for GPUs in the form of the site, as many as ranks start on a node, where nothing asks for any.

    Under PBS they are a chunk's, which the rules write.
    """
    texts = [line.text for line in given.cause.evidence]
    if given.case.scheduler == "pbs" or asks_for_gpus(given.job.settings) or not any(map(_NONE.search, texts)):
        return None
    match = _FORM.match(given.site.gpu_request.form or "--gres=gpu:{n}")
    if match is None or "{" in match[2].replace("{n}", ""):
        return None
    count = _ranks(plain_words(given.job.source)) or given.plan.allocation.tasks_per_node or 1
    value = match[2].replace("{n}", "%d" % count)
    return with_option(given, match[1], value, "--%s=%s" % (match[1], value))


def _ranks(words: Sequence[PlainWord]) -> int:
    """Return the most ranks that a launcher's words start on a node, 0 where none say it."""
    counts = [0]
    for word, follows in zip(words, [*words[1:], None]):
        match = _RANKS.match(word.text)
        if match is not None:
            value = match[1] or (follows.text if follows is not None else "")
            counts.append(int(value) if value.isdigit() and len(value) < 3 else 0)
    return max(counts)


@fix("slots-of-launch")
def slots_of_launch(given: Given) -> Fix | None:
    """Ask for as many places as the one launch line of MPI starts processes, where it names no hosts of its own."""
    counts = set(_asked(plain_words(given.job.source)))
    count = counts.pop() if len(counts) == 1 else 0
    if not count:
        return None
    return _of_pbs(given, count) if given.case.scheduler == "pbs" else _of_slurm(given, count)


def _asked(words: Sequence[PlainWord]) -> Iterator[int]:
    """Yield the number of processes of each MPI launch; 0 for one that says how they are placed."""
    for command in dict.fromkeys(word.command for word in words):
        own = [word for word in words if word.command == command]
        if not own or own[0].text.rpartition("/")[2] not in _MPI:
            continue
        numbers = [after.text for word, after in zip(own, own[1:]) if word.text in _COUNT and after.nth == word.nth + 1]
        placed = any(_HOSTS.match(word.text) for word in own)
        yield int(numbers[0]) if len(numbers) == 1 and numbers[0].isdigit() and not placed else 0


def _of_slurm(given: Given, count: int) -> Fix | None:
    has, each = given.plan.allocation, given.job.settings.get("ntasks-per-node")
    if each is None:
        had = given.job.settings.value("ntasks") or b"0"
        return (
            with_option(given, "ntasks", "%d" % count, "--ntasks=%d" % count)
            if had.isdigit() and int(had) < count
            else None
        )
    if not has.nodes or count % has.nodes or not each.value.isdigit() or int(each.value) >= count // has.nodes:
        return None
    return with_option(
        given, "ntasks-per-node", "%d" % (count // has.nodes), "--ntasks-per-node=%d" % (count // has.nodes)
    )


def _of_pbs(given: Given, count: int) -> Fix | None:
    """Give the one kind of chunk that is asked for its share of the processes."""
    value = (given.job.settings.value("select") or b"").decode("ascii", "replace")
    match = re.fullmatch(r"(\d{1,4})((?::[\w=.-]+)*)", value)
    if match is None or count % int(match[1] or 1):
        return None
    each = count // int(match[1])
    rest = re.sub(r":mpiprocs=\d+", "", match[2]) + ":mpiprocs=%d" % each
    cpus = re.search(r":ncpus=(\d+)", rest)
    if cpus is None or int(cpus[1]) < each:
        return None
    return with_option(given, "select", match[1] + rest, "mpiprocs=%d in each chunk" % each)
