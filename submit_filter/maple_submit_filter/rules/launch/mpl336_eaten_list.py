"""A launcher or remote shell that eats the list which its loop reads."""

from __future__ import annotations

from itertools import islice
from typing import Iterator, List, Optional, Sequence, Tuple

from ...bash import nodes
from ...bash.loop_input import on_the_list
from ...bash.parser import parse
from ...bash.questions import first
from ...launchers.grammar import read
from ...launchers.srun_options import TABLE
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from ...types.text import plain
from .. import rule

CODE = "MPL336"
MOST = 8  # places that are told
_REMOTE = (b"ssh", b"pbs_tmrsh")
_READERS = (*_REMOTE, b"srun", b"mpirun", b"mpiexec", b"mpiexec.hydra", b"orterun", b"prterun")
_IN_FRONT = (b"timeout", b"time", b"env", b"nohup", b"nice", b"command", b"stdbuf", b"numactl")
_VALUES_OF_SSH = b"BbcDEeFIiJLlmOopQRSWw"  # ssh(1): its options with a value


@rule("MPL336", "what a loop starts reads the loop's own list")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """ssh, pbs_tmrsh, srun and mpiexec read standard input, and inside of `while read` that is the list of the loop.

    Wrong: while read h; do ssh $h "torchrun ..."; done < hosts
    Right: while read h; do ssh -n $h "torchrun ..." & done < hosts; wait
    Wrong: while read lr; do PORT=29501 srun python train.py --lr $lr; done < grid.txt
    Right: while read lr; do PORT=29501 srun python train.py --lr $lr < /dev/null; done < grid.txt
    Why:   the first one swallows the other lines: the loop ends after one round, and the job as COMPLETED. What runs in
           the background (&) of a script reads nothing. `maple check` shows the change; at submission Maple only
           reports it.
    """
    if not job.script.is_shell or b"while" not in job.source and b"until" not in job.source:
        return
    if b"read" not in job.source or not any(name in job.source for name in _READERS):
        return
    for command in islice(_eating(parse(job.source)), MOST):
        at = _reader(command.words)
        word = command.words[at or 0]
        name = _name(word).decode()
        fix = _told_nothing(command, word, name)
        yield Finding(CODE, "%s reads the list of the loop, which ends after the first line" % name, word.span,
                      fixes=(fix,) if fix is not None else (), help="have it read nothing: < /dev/null")  # fmt: skip


def _eating(program: nodes.Program) -> Iterator[nodes.Simple]:
    for command in on_the_list(program):
        at = _reader(command.words)
        if at is not None and not _reads_nothing(_name(command.words[at]), command.words[at:]):
            yield command


def _name(word: nodes.Word) -> bytes:
    return first(word).rsplit(b"/", 1)[-1]


def _reader(words: Sequence[nodes.Word]) -> Optional[int]:
    """Return which word is the launcher: the first, or one behind a command that starts it and reads nothing."""
    if not words or _name(words[0]) in _READERS:
        return 0 if words else None
    if _name(words[0]) not in _IN_FRONT:
        return None
    for index, word in enumerate(words[1:], 1):
        text = first(word)
        if _name(word) in _READERS:
            return index
        if text[:1] != b"-" and not text[:1].isdigit() and b"=" not in text:
            return None
    return None


def _reads_nothing(name: bytes, words: Sequence[nodes.Word]) -> bool:
    """Return whether its own options have it read no standard input."""
    texts = [_text(word) for word in words]
    if name == b"ssh":
        return _ssh_reads_nothing(texts)
    if name == b"srun":
        own = texts[: read(TABLE, [plain(text) for text in texts], 1).program]
        return any(mode != b"all" and not mode.isdigit() for mode in _values(own, (b"--input", b"-i")))
    return any(mode == b"none" for mode in _values(texts, (b"--stdin", b"-stdin", b"-s")))


def _text(word: nodes.Word) -> bytes:
    return b"".join(part.text if isinstance(part, nodes.Literal) else b"$" for part in word.parts)


def _values(texts: Sequence[bytes], names: Tuple[bytes, ...]) -> List[bytes]:
    out = [value for name, value in zip(texts, texts[1:]) if name in names]
    out += [text.partition(b"=")[2] for text in texts if text.partition(b"=")[0] in names and b"=" in text]
    return out + [text[2:] for text in texts if b"-i" in names and text[:2] == b"-i" and len(text) > 2]


def _ssh_reads_nothing(texts: Sequence[bytes]) -> bool:
    """Return whether ssh is told -n or -f, in front of its host or right behind it."""
    hosts, skips = 0, False
    for text in texts[1:]:
        if skips:
            skips = False
        elif text[:1] != b"-":
            hosts += 1
        else:
            flags = [index for index, flag in enumerate(text) if flag in _VALUES_OF_SSH and index]
            own = text[1 : flags[0]] if flags else text[1:]
            if b"n" in own or b"f" in own:
                return True
            skips = bool(flags) and flags[0] == len(text) - 1
        if hosts > 1:
            break
    return any(text.replace(b" ", b"=").lower() == b"stdinnull=yes" for text in texts)


def _told_nothing(command: nodes.Simple, word: nodes.Word, name: str) -> Optional[Fix]:
    """Return the edit that has it read nothing; none where srun is told what it reads."""
    if name == "srun" and any(first(each).startswith(b"--input") for each in command.words):
        return None
    words = {"ssh": " -n", "srun": " --input=none"}.get(name, "")
    if words:
        return Fix((Edit(Span(word.span.end, word.span.end), words.encode(), CODE),), Safety.ASK, name + words)
    end = command.span.end
    return Fix((Edit(Span(end, end), b" < /dev/null", CODE),), Safety.ASK, name + " ... < /dev/null")
