"""Which files a launcher and the program it starts write by themselves.

Which files a script's redirections write to, as patterns to look for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from maple_submit_filter.play.compound import MOST_ROUNDS
from maple_submit_filter.types.launch_plan import Link
from maple_submit_filter.types.text import NUL, Text

from . import name_patterns
from .name_patterns import ANY, Path, Wild, joined
from .script_outputs import SUBMITTED_TOKEN, TASK_TOKEN, Launched, Played, Written

Role = Literal["stdout", "stderr", "both", "rank", "error-file", "trace", "scheduler"]

_TORCHRUN = ("torchrun", "torch.distributed.launch", "torch.distributed.run", "accelerate", "accelerate-launch")
_MPI = ("mpiexec", "mpirun", "orterun", "prterun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.openmpi")
# Options by which training programs are told where to write; the folder is looked through for logs only.
_FOLDERS = (
    b"output_dir", b"output-dir", b"logging_dir", b"logging-dir", b"log_dir", b"log-dir", b"logdir", b"save_dir",
    b"save-dir", b"default_root_dir", b"trainer.default_root_dir", b"hydra.run.dir", b"work_dir", b"work-dir",
)  # fmt: skip


_FILES = (b"log_file", b"log-file", b"logfile", b"log_path", b"log-path")
_TIME = (Wild("", True), "-", Wild("", True), "-", Wild("", True))
# Where libraries write unasked, below the folder in which the program runs.
_UNASKED: tuple[tuple[Path, str], ...] = (
    (("outputs/", *_TIME, "/", *_TIME, "/", ANY, ".log"), "hydra's folder of a run"),
    (("multirun/", *_TIME, "/", *_TIME, "/", Wild("", True), "/", ANY, ".log"), "hydra's folder of a run"),
    (("wandb/run-", ANY, "/files/output.log"), "output that wandb kept"),
)
_ENDINGS: tuple[tuple[str, Role], ...] = ((".err", "stderr"), (".log", "both"), (".out", "stdout"))
_STREAMS: tuple[tuple[str, Role], ...] = (("stderr", "stderr"), ("stdout", "stdout"))


def launched(played: Played, facts: Facts) -> Iterator[Sought]:
    """Yield what launchers and the programs behind them write, each once."""
    yield from dict.fromkeys(wanted for launch in played.launched for wanted in _of_launch(launch, facts))


def _of_launch(launched: Launched, facts: Facts) -> Iterator[Sought]:
    for index, link in enumerate(launched.links):
        cwd = launched.cwds[0] if index == 0 else launched.cwds[1]
        if link.name == "srun":
            yield from _srun(link, launched, cwd, facts)
        elif link.name in _TORCHRUN:
            yield from _torchrun(link, launched, cwd, facts)
        elif link.name == "deepspeed":
            yield from _deepspeed(link, cwd, facts)
        elif link.name in _MPI:
            yield from _mpiexec(link, cwd, facts)
    yield from _variables(launched, facts)
    yield from _program(launched, facts)


def _srun(link: Link, launched: Launched, cwd: Text | None, facts: Facts) -> Iterator[Sought]:
    chdir = _option(link, "chdir")
    out = _option(link, "output") or launched.variables.get(b"SLURM_STDOUTMODE")
    err = _option(link, "error") or launched.variables.get(b"SLURM_STDERRMODE")
    streams: tuple[tuple[Text | None, Role], ...] = ((out, "both" if err is None else "stdout"), (err, "stderr"))
    for text, role in streams:
        path = _srun_path(text, facts)
        if chdir is not None and text is not None and name_patterns.by_task(os.fsdecode(text.raw)):
            path = name_patterns.below(name_patterns.text(pieces(chdir, facts)), path)  # a task opens it, where it runs
        place = seen_from(cwd, path, facts) if path else None
        if place is not None:
            yield Sought(place, role, "output of the srun in line %d" % launched.line, named=True)


def _srun_path(text: Text | None, facts: Facts) -> Path:
    """Return a step's output pattern; `none`, `all` and a task's number name no file (srun(1), "IO Redirection")."""
    if text is None or text.raw in (b"none", b"all", b"", b"-") or text.raw.isdigit():
        return ()
    out: list[name_patterns.Piece] = []
    for piece in pieces(text, facts):
        out += name_patterns.slurm(piece, facts.values) if isinstance(piece, str) else [piece]
    # The step's number stands where the batch script has the job's own: %J is job.step there.
    return joined(out)


def _torchrun(link: Link, launched: Launched, cwd: Text | None, facts: Facts) -> Iterator[Sought]:
    """`LOG_DIR/RUN_xxxx/attempt_N/LOCAL_RANK/stderr.log` and error.json (torch 2.13)."""
    folder = _option(link, "log-dir", "logdir") or launched.variables.get(b"PET_LOG_DIR")
    path = seen_from(cwd, pieces(folder, facts), facts) if folder is not None else None
    if folder is None and (_option(link, "redirects") or Text()).raw not in (b"", b"0"):
        yield Sought((), "stderr", "torchrun's --redirects without --log-dir writes to /tmp of each node", named=True)
    if path is None:
        return
    inside = ("/", ANY, "/attempt_", Wild("attempt", True), "/", Wild("local", True), "/")
    about = "torchrun's --log-dir, line %d" % launched.line
    yield Sought(joined((*path, *inside, "error.json")), "error-file", about)
    for name, role in _STREAMS:
        yield Sought(joined((*path, *inside, name + ".log")), role, about)
        # torch.distributed.launch before 1.9
        older = ("/node_", Wild("place", True), "_local_rank_", Wild("local", True), "_" + name)
        yield Sought(joined((*path, *older)), role, "--logdir of the launch line")


def _deepspeed(link: Link, cwd: Text | None, facts: Facts) -> Iterator[Sought]:
    """`DIR/20261122103000_rank3.log` (deepspeed 0.19.8)."""
    folder = _option(link, "enable-each-rank-log")
    path = seen_from(cwd, pieces(folder, facts), facts) if folder is not None else None
    if path is not None:
        name = ("/", ANY, "_rank", Wild("rank", True), ".log")
        yield Sought(joined((*path, *name)), "rank", "deepspeed's --enable_each_rank_log")


def _mpiexec(link: Link, cwd: Text | None, facts: Facts) -> Iterator[Sought]:
    """Open MPI: NAME/JOB/rank.N/stdout (3 and later), NAME.JOB.N (before); Hydra and Intel MPI: patterns."""
    for (_, role), short in zip(_STREAMS, ("errfile", "outfile")):
        text = _option(link, short + "-pattern", short)
        path = seen_from(cwd, _hydra(text, facts), facts) if text is not None else None
        if path is not None:
            yield Sought(path, role, "-%s-pattern of the launch line" % short)
    for text in (_option(link, "output-filename"), _prte(_option(link, "output"))):
        path = seen_from(cwd, pieces(text, facts), facts) if text is not None else None
        if path is None:
            continue
        for name, role in _STREAMS:
            inside = ("/", ANY, "/rank.", Wild("rank", True), "/", name)
            yield Sought(joined((*path, *inside)), role, "--output-filename of the launch line")
            yield Sought(
                joined((*path, ".", ANY, ".", Wild("rank", True), "." + name)), role, "--output of the launch line"
            )
        yield Sought(joined((*path, ".", ANY, ".", Wild("rank", True))), "rank", "--output-filename of the launch line")


def _hydra(text: Text, facts: Facts) -> Path:
    out: list[name_patterns.Piece] = []
    for piece in pieces(text, facts):
        out += name_patterns.hydra(piece) if isinstance(piece, str) else [piece]
    return joined(out)


def _prte(text: Text | None) -> Text | None:
    """Return NAME of Open MPI 5's `--output dir=NAME` or `file=NAME`."""
    raw = text.raw if text is not None else b""
    for form in (b"dir=", b"file=", b"directory=", b"filename="):
        at = raw.find(form)
        if text is not None and (at == 0 or raw[at - 1 : at] in (b",", b":")) and at >= 0:
            end = min((end for end in (raw.find(b",", at), raw.find(b":", at)) if end >= 0), default=len(raw))
            return text.slice(at + len(form), end)
    return None


def _variables(launched: Launched, facts: Facts) -> Iterator[Sought]:
    for name in (b"NCCL_DEBUG_FILE", b"RCCL_DEBUG_FILE", b"TORCHELASTIC_ERROR_FILE", b"I_MPI_DEBUG_OUTPUT"):
        text = launched.variables.get(name)
        if text is None or not text.raw:
            continue
        out: list[name_patterns.Piece] = []
        for piece in pieces(text, facts):
            out += name_patterns.nccl(piece) if isinstance(piece, str) else [piece]
        path = seen_from(launched.cwds[1], joined(out), facts)
        if path is not None:
            role: Role = "error-file" if name == b"TORCHELASTIC_ERROR_FILE" else "trace"
            yield Sought(path, role, "%s names it" % name.decode())


def _program(launched: Launched, facts: Facts) -> Iterator[Sought]:
    """What libraries write unasked; files and folders that the program's own options name: logs in the latter, and in
    the folders below.
    """
    for unasked, says in _UNASKED:
        usual = seen_from(launched.cwds[1], unasked, facts)
        if usual is not None:
            yield Sought(usual, "both", says, shared=True)
    words = launched.program
    for index, text in enumerate(words):
        name, equals, _ = text.raw.lstrip(b"-+").partition(b"=")
        if name not in (*_FOLDERS, *_FILES) or (not equals and not text.raw.startswith(b"-")):
            continue
        value = text.slice(text.raw.index(b"=") + 1) if equals else words[index + 1] if index + 1 < len(words) else None
        path = seen_from(launched.cwds[1], pieces(value, facts), facts) if value is not None and value.raw else None
        if path is None or path == ("/",):
            continue
        about = "--%s of the program" % os.fsdecode(name)
        if name in _FILES:
            yield Sought(path, "both", about)
            continue
        for inside in (("/", ANY), ("/", ANY, "/", ANY)):
            for ending, role in _ENDINGS:
                yield Sought(joined((*path, *inside, ending)), role, about)


def _option(link: Link, *names: str) -> Text | None:
    option = link.option(*names)
    return option.value if option is not None else None


class Sought(NamedTuple):
    """A file to look for. *about*: why. *named*: the script names this very file, so its absence tells something.

    *shared*: other jobs may write to its like at the same time, so it counts only where nothing else is there. *alone*:
    the like of it may be another job's, so of several that fit none counts.
    """

    path: Path
    role: Role
    about: str
    named: bool = False
    shared: bool = False
    alone: bool = False


class Facts(NamedTuple):
    """What of a job goes into names of files. *values*: Slurm's signs."""

    scheduler: str
    job: str
    nodes: tuple[str, ...]
    work_dir: str
    values: Mapping[str, str]


def redirected(played: Played, facts: Facts) -> Iterator[Sought]:
    """Yield the files that commands of the script are redirected to."""
    for written in played.written:
        yield from _written(written, facts)
    yield from _of_more_rounds(played.written, facts)


def _written(written: Written, facts: Facts) -> Iterator[Sought]:
    path = pieces(written.path, facts)
    if name_patterns.text(path).startswith("/dev/"):
        return
    place = seen_from(written.cwd, path, facts)
    where = "line %d of the script writes to it" % written.line
    if place is None:
        where = "line %d of the script writes to %s" % (written.line, name_patterns.text(path))
        yield Sought((), written.role, where, named=True)
        return
    yield Sought(place, written.role, where, named=True, alone=SUBMITTED_TOKEN in written.path.raw)


def _of_more_rounds(written: tuple[Written, ...], facts: Facts) -> Iterator[Sought]:
    """A loop is not played to its end: files of further rounds are called like those of the first, but for a number."""
    lines: dict[tuple[int, Role], list[Written]] = {}
    for written_file in written:
        lines.setdefault((written_file.line, written_file.role), []).append(written_file)
    for (line, role), many in lines.items():
        if len(many) < MOST_ROUNDS:
            continue
        names = [
            name_patterns.text(pieces(written_file.path, facts)) for written_file in many if written_file.path.literal
        ]
        head, tail = os.path.commonprefix(names), os.path.commonprefix([name[::-1] for name in names])[::-1]
        head, tail = head.rstrip("0123456789"), tail.lstrip("0123456789")
        middles = [name[len(head) : len(name) - len(tail)] for name in names]
        if len(names) == len(many) and all(middle.isdigit() for middle in middles):
            place = seen_from(many[0].cwd, joined((head, Wild("", True), tail)), facts)
            if place is not None:
                yield Sought(place, role, "line %d of the script writes to it" % line)


def seen_from(cwd: Text | None, path: Path, facts: Facts) -> Path | None:
    """Return *path* seen from *cwd*; None where nobody knows where it begins, or too little of it to look for it."""
    if not path or path[0] == ANY:
        return None
    if not (isinstance(path[0], str) and path[0].startswith("/")):
        folder = pieces(cwd, facts) if cwd is not None and cwd.raw else (facts.work_dir,) if facts.work_dir else ()
        path = joined((*folder, "/", *path)) if folder else path
    first, *names = name_patterns.components(path)
    begins = first == () and names[:1] != [] and name_patterns.is_known(names[0])
    return path if begins and names[-1] != (ANY,) else None


def pieces(text: Text, facts: Facts) -> Path:
    """Return the pieces of a text that may hold tokens: what the scheduler gave is filled in."""
    out: list[name_patterns.Piece] = []
    for index, part in enumerate(text.raw.split(NUL)):
        out.append(os.fsdecode(part) if index % 2 == 0 else _token(part, facts))
    return joined(out)


def _token(part: bytes, facts: Facts) -> name_patterns.Piece:
    """Return what a token stands for. A node's name is open: only some nodes of a large job are played."""
    kind, _, name = part.partition(b":")
    if kind == b"job" and facts.job:
        return facts.job
    if kind in (b"host", b"name", b"some") or (kind == b"vary" and name.startswith(b"hostname")):
        return Wild("node")
    if name.startswith(TASK_TOKEN):
        what = name[len(TASK_TOKEN) :].decode()
        return Wild(what, what != "node")
    return ANY
