"""The script, played through once more: which files its commands and its launch lines write to.

The launch plan knows what a variable holds and which shell expands it, so what is found here is what a job really
writes, and no guess from the text.

Where a command's output goes, and whether it is a log: from how the command is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Optional

from maple_submit_filter.answer.decision import MOST_READ, understood
from maple_submit_filter.bash import nodes
from maple_submit_filter.bash.nodes import (
    AndOr,
    Command,
    Group,
    If,
    Loop,
    Pipeline,
    ProcessSub,
    Program,
    Redirect,
    Simple,
    Word,
)
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.launchers.programs import Programs
from maple_submit_filter.play.batch_shell import batch_shell, granted, login
from maple_submit_filter.play.expansion import fields, word
from maple_submit_filter.play.interpreter import Interpreter
from maple_submit_filter.play.scene import Agent, Scene, Trail
from maple_submit_filter.play.shell_state import Shell, Variable
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Job, Read
from maple_submit_filter.types.launch_plan import Link
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import Piece, Text, plain, token

Role = Literal["stdout", "stderr", "both"]

# Commands whose output is data or a message for somebody else, and no log.
_PRINTING = frozenset(
    b"echo printf cat scontrol sed awk gawk cut sort uniq seq hostname date env printenv nvidia-smi rocm-smi tr head "
    b"tail grep egrep fgrep cp mv rm ls which nodeset paste tac yes jq find wc expr basename dirname pwd id whoami "
    b"ulimit true false : touch declare set export uname lscpu free df du sacct squeue sinfo qstat getent openssl "
    b"base64 envsubst numactl xargs git md5sum sha256sum".split()
)
# What a program says goes through them, and stays what it said: `python train.py 2>&1 | grep -v Warning > train.log`.
_PASSING = frozenset(b"cat grep egrep fgrep sed awk gawk tr ts cut head tail uniq tee".split())
_STARTING = frozenset(b"srun mpirun mpiexec pbsdsh time nice timeout env command".split())  # `srun hostname > hosts`

MOST = 512  # files that are written to; beyond it the script says nothing that could be looked through

# What a task has for its own, written so that a name made of it is known to differ.
_OF_A_TASK: Mapping[bytes, bytes] = {
    b"SLURM_PROCID": b"rank", b"SLURM_NODEID": b"place", b"SLURM_LOCALID": b"local", b"PMI_RANK": b"rank",
    b"PMIX_RANK": b"rank", b"OMPI_COMM_WORLD_RANK": b"rank", b"PALS_RANKID": b"rank", b"PALS_LOCAL_RANKID": b"local",
    b"MPI_LOCALRANKID": b"local", b"OMPI_COMM_WORLD_LOCAL_RANK": b"local", b"SLURMD_NODENAME": b"node",
    b"RANK": b"rank", b"LOCAL_RANK": b"local", b"HOSTNAME": b"node",
}  # fmt: skip
TASK_TOKEN = b"finding."  # begins the names of such tokens
SUBMITTED_TOKEN = (
    b"submitted."  # begins the names of tokens for what the submit command may have had in its environment
)
_USED = re.compile(rb"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_DOUBTED = re.compile(rb"\$\{([A-Za-z_]\w*):?[-=?+]", re.ASCII)


class Written(NamedTuple):
    """A file that a command writes to. *path*: with tokens. *cwd*: where it counts from, None unknown."""

    path: Text
    cwd: Optional[Text]
    role: Role
    line: int
    task: Optional[int] = None


class Launched(NamedTuple):
    """A program or agent that would start. *cwds*: where the first of *links* was started, and the program itself."""

    links: tuple[Link, ...]
    program: tuple[Text, ...]
    cwds: tuple[Optional[Text], Optional[Text]]
    variables: Mapping[bytes, Text]
    line: int


class Played(NamedTuple):
    """What the script writes to and launches."""

    written: tuple[Written, ...] = ()
    launched: tuple[Launched, ...] = ()
    job: Optional[Job] = None


# Variables that name files which libraries write.
FILE_VARIABLES = (b"NCCL_DEBUG_FILE", b"RCCL_DEBUG_FILE", b"TORCHELASTIC_ERROR_FILE", b"SLURM_STDOUTMODE",
                  b"SLURM_STDERRMODE", b"PET_LOG_DIR", b"I_MPI_DEBUG_OUTPUT", b"MPICH_OUTPUT_FILE")  # fmt: skip


def play(submission: Submission, site: Site, known: Mapping[bytes, bytes], read: Optional[Read] = read_file) -> Played:
    """Return what the script writes to; nothing where it is none that can be played.

    *known*: variables of the job that are known by now (`SLURM_ARRAY_TASK_ID`); they hold in the batch shell. Files
    that the script needs are read through *read*.
    """
    if submission.script is None or len(submission.script) > MOST_READ:
        return Played()
    job = understood(submission, read)
    if job is None:
        return Played()
    if not job.script.is_shell:
        return Played(job=job)
    scene = Scene(granted(submission, job.settings, site), site, read)
    programs = _Listening(scene)
    source = Text((Piece(job.script.source, 0),))
    shell = batch_shell(submission, job.settings, scene.allocation, site, source, job.arguments)
    if submission.scheduler == "slurm":
        shell.cwd = plain(submission.cwd)  # where the job ran: a --chdir is in it already
    scene.login, scene.begun_with = login(submission), dict(shell.variables)
    home = submission.environment.get(b"HOME")
    scene.home = plain(home) if home else None
    if submission.scheduler == "pbs":
        from maple_submit_filter.play import pbs_allocation as pbs

        scene.files[pbs.NODE_FILE.raw] = pbs.node_file(scene.allocation)
    for name in _taken_for_set(job.script.source) - set(shell.variables):
        shell.variables[name] = Variable(plain(token(b"env", SUBMITTED_TOKEN + name)), None, True)
    for name, value in known.items():
        shell.variables[name] = Variable(plain(value), None, True)
    programs.listener.scene_source = job.script.source
    programs.interpreter.script(source, shell, Trail())
    return Played(tuple(programs.listener.heard), tuple(programs.launched), job)


def _taken_for_set(source: bytes) -> set[bytes]:
    """Return the variables that a script uses as if they were set: what nobody set in it was set at its submission.

    One with a default beside it may well have been unset.
    """
    used = {match[1] or match[2] for match in _USED.finditer(source)}
    return used - {match[1] for match in _DOUBTED.finditer(source)}


class _Interpreter(Interpreter):
    """Notes where output goes while a script is played."""

    heard: list[Written]
    line = 1

    def command(self, command: Command, shell: Shell, trail: Trail) -> Optional[int]:
        """Run one command of any kind, its redirections noted first."""
        if len(self.heard) < MOST:
            self._listen(command, shell)
        return super().command(command, shell, trail)

    def _listen(self, command: Command, shell: Shell) -> None:
        at = shell.base.span(command.span.start, command.span.start)
        if at is not None:
            self.line = self.scene_source.count(b"\n", 0, at.start) + 1
        if not prints(command):
            self._redirected(getattr(command, "redirects", ()), shell)
        if isinstance(command, Simple) and name_of(command) == b"tee":
            self._tee(command, shell, "both")
        last = passed_on(command) if isinstance(command, Pipeline) else None
        if last is not None:
            self._redirected(last.redirects, shell, "both")

    def _redirected(self, redirects: Sequence[Redirect], shell: Shell, role_before: Optional[Role] = None) -> None:
        """Note where output goes; *role_before*: what of it comes through the pipe before."""
        streams = roles(redirects)
        for redirect in redirects:
            if redirect.target is None or redirect not in streams:
                continue
            if role_before is not None and streams[redirect] == "stderr":
                continue  # of a filter
            role = role_before or streams[redirect]
            if not self._handed_on(redirect.target, shell, role):
                self._note(word(_as_any_task(shell), redirect.target, self.substitute), shell, role)

    def _tee(self, command: Simple, shell: Shell, role: Role) -> None:
        names = [name for name in command.words[1:] if not self._handed_on(name, shell, role)]
        for text in (text for name in names for text in fields(_as_any_task(shell), name, self.substitute)):
            if not text.raw.startswith(b"-"):
                self._note(text, shell, role)

    def _handed_on(self, target: Word, shell: Shell, role: Role) -> bool:
        """Return whether it goes to a process, `>(tee log)`; what that one writes to is noted."""
        inside = [part for part in target.parts if isinstance(part, ProcessSub)]
        for command in (command for part in inside for command in commands(part.body)):
            if isinstance(command, Simple):
                self._redirected(command.redirects, shell, role)
                if name_of(command) == b"tee":
                    self._tee(command, shell, role)
        return bool(inside)

    def _note(self, path: Text, shell: Shell, role: Role) -> None:
        written = Written(path, shell.cwd, role, self.line, shell.place.task)
        if path.raw and all(seen[:3] != written[:3] for seen in self.heard):
            self.heard.append(written)

    scene_source = b""  # the script, in which lines are counted


class _Listening(Programs):
    """Starts command lines in a scene, and remembers what was launched from where."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.listener = _Interpreter(scene, self.execute)
        self.listener.heard = []
        self.interpreter = self.listener
        self.launched: list[Launched] = []
        self._line_cwd: Optional[Text] = None
        self._seen: set[object] = set()

    def execute(self, argv: list[Text], shell: Shell, trail: Trail, given: Optional[Text] = None) -> None:
        """Start *argv*; where a launch line begins, its folder is remembered."""
        if not trail.links:
            self._line_cwd = shell.cwd
        else:
            self._launched(trail, argv, shell)
        super().execute(argv, shell, trail, given)

    def leaf(self, argv: Sequence[Text], shell: Shell, trail: Trail, python: bool = False) -> None:
        """Record a program that starts no ranks itself."""
        self._launched(trail, argv, shell)
        super().leaf(argv, shell, trail, python)

    def agent(self, agent: Agent, program: Sequence[Text], shell: Shell, trail: Trail) -> None:
        """Record an agent that starts ranks."""
        self._launched(trail, program, shell)
        super().agent(agent, program, shell, trail)

    def _launched(self, trail: Trail, program: Sequence[Text], shell: Shell) -> None:
        key = (trail.key, len(trail.links), tuple(text.raw for text in program))
        if len(self.launched) >= MOST or key in self._seen:
            return
        self._seen.add(key)
        any_task = _as_any_task(shell)
        values = {name: value for name in FILE_VARIABLES for value in [any_task.value(name)] if value is not None}
        line = self.listener.line
        self.launched.append(Launched(trail.links, tuple(program), (self._line_cwd, shell.cwd), values, line))


def _as_any_task(shell: Shell) -> Shell:
    """Return the shell as it is in any task of its step: what is a task's own is a token."""
    if shell.place.task is None and shell.place.name == b"":
        return shell
    other = shell.fork()
    for name, what in _OF_A_TASK.items():
        if name in shell.variables or name not in (b"RANK", b"LOCAL_RANK", b"HOSTNAME"):
            other.variables[name] = Variable(plain(token(b"vary", TASK_TOKEN + what)), None, True)
    return other


__all__ = ["FILE_VARIABLES", "Launched", "Played", "TASK_TOKEN", "Written", "play"]


def roles(redirects: Sequence[Redirect]) -> dict[Redirect, Role]:
    """Return the redirections that write to files, each with what goes there."""
    out: dict[Redirect, Role] = {}
    last: Optional[Redirect] = None
    for redirect in redirects:
        if redirect.op in (b">", b">>", b">|") and redirect.fd in (None, b"", b"1"):
            out[redirect], last = "stdout", redirect
        elif redirect.op in (b">", b">>", b">|") and redirect.fd == b"2":
            out[redirect] = "stderr"
        elif redirect.op in (b"&>", b"&>>") or (redirect.op == b">&" and not _is_descriptor(redirect)):
            out[redirect] = "both"
        elif redirect.op == b">&" and redirect.fd == b"2" and last is not None and _target(redirect) == b"1":
            out[last] = "both"
    return out


def _is_descriptor(redirect: Redirect) -> bool:
    target = _target(redirect)
    return target == b"-" or target.rstrip(b"-").isdigit()


def _target(redirect: Redirect) -> bytes:
    return _literal(redirect.target) if redirect.target is not None else b""


def name_of(command: Simple) -> bytes:
    """Return a command's own name, b"" where it is no plain word."""
    return _literal(command.words[0]).rsplit(b"/", 1)[-1] if command.words else b""


def _literal(word: nodes.Word) -> bytes:
    return word.parts[0].text if len(word.parts) == 1 and isinstance(word.parts[0], nodes.Literal) else b""


def prints(command: Command) -> bool:
    """Return whether a command, or all that is inside of it, only writes data or messages."""
    if isinstance(command, Simple):
        words = [_literal(word) for word in command.words]
        named = [word for word in words[1:] if not word.startswith(b"-")] if name_of(command) in _STARTING else []
        return not words or name_of(command) in _PRINTING or not _PRINTING.isdisjoint((*named[:1], *named[-1:]))
    inner = list(_inside(command))
    return bool(inner) and all(prints(part) for part in inner)


def passed_on(command: Pipeline) -> Optional[Simple]:
    """Return the last command of a pipe where it hands on what a program says, None where it does not."""
    *before, last = command.commands
    if not isinstance(last, Simple) or name_of(last) not in _PASSING or all(prints(part) for part in before):
        return None
    return last


def _inside(command: Command) -> Iterator[Command]:
    if isinstance(command, (Pipeline, AndOr)):
        yield from command.commands
    elif isinstance(command, (Group, Loop)):
        yield from commands(command.body)
    elif isinstance(command, If):
        for _, body in command.branches:
            yield from commands(body)
        yield from commands(command.otherwise)


def commands(program: Optional[Program]) -> Iterator[Command]:
    for item in program.items if program is not None else ():
        if isinstance(item.command, (Pipeline, AndOr)):
            yield from item.command.commands
        else:
            yield item.command
