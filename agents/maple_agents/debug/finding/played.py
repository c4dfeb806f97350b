"""The script, played through once more: which files its commands and its launch lines write to.

The launch plan knows what a variable holds and which shell expands it, so what is found here is what a job really
writes, and no guess from the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Optional

from maple_submit_filter import shell as bash
from maple_submit_filter.batch_shell import batch_shell, granted, login
from maple_submit_filter.decide import MOST_READ, understood
from maple_submit_filter.expand import fields, word
from maple_submit_filter.interpreter import Interpreter
from maple_submit_filter.job import Job
from maple_submit_filter.launch import Link
from maple_submit_filter.programs import Programs
from maple_submit_filter.reading import read_file
from maple_submit_filter.scene import Agent, Scene, Trail
from maple_submit_filter.shell import AndOr, Command, Group, If, Loop, Pipeline, ProcessSub, Program, Redirect, Simple
from maple_submit_filter.shell_state import Shell, Variable
from maple_submit_filter.site import Site
from maple_submit_filter.submission import Submission
from maple_submit_filter.text import Piece, Text, plain, token

Role = Literal["stdout", "stderr", "both"]
MOST = 512  # files that are written to; beyond it the script says nothing that could be looked through

# Commands whose output is data or a message for somebody else, and no log.
_PRINTING = frozenset(
    b"echo printf cat scontrol sed awk gawk cut sort uniq seq hostname date env printenv nvidia-smi rocm-smi tr head "
    b"tail grep egrep fgrep cp mv rm ls which nodeset paste tac yes jq find wc expr basename dirname pwd id whoami "
    b"ulimit true false : touch declare set export uname lscpu free df du sacct squeue sinfo qstat getent openssl "
    b"base64 envsubst numactl xargs git md5sum sha256sum".split()
)
_STARTING = frozenset(b"srun mpirun mpiexec pbsdsh time nice timeout env command".split())  # `srun hostname > hosts`
# What a task has for its own, written so that a name made of it is known to differ.
_OF_A_TASK: Mapping[bytes, bytes] = {
    b"SLURM_PROCID": b"rank", b"SLURM_NODEID": b"place", b"SLURM_LOCALID": b"local", b"PMI_RANK": b"rank",
    b"PMIX_RANK": b"rank", b"OMPI_COMM_WORLD_RANK": b"rank", b"PALS_RANKID": b"rank", b"PALS_LOCAL_RANKID": b"local",
    b"MPI_LOCALRANKID": b"local", b"OMPI_COMM_WORLD_LOCAL_RANK": b"local", b"SLURMD_NODENAME": b"node",
    b"RANK": b"rank", b"LOCAL_RANK": b"local", b"HOSTNAME": b"node",
}  # fmt: skip
TASK_TOKEN = b"finding."  # begins the names of such tokens


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


def play(submission: Submission, site: Site, known: Mapping[bytes, bytes]) -> Played:
    """Return what the script writes to; nothing where it is none that can be played.

    *known*: variables of the job that are known by now (`SLURM_ARRAY_TASK_ID`); they hold in the batch shell.
    """
    if submission.script is None or len(submission.script) > MOST_READ:
        return Played()
    job = understood(submission, read_file)
    if job is None:
        return Played()
    if not job.script.is_shell:
        return Played(job=job)
    scene = Scene(granted(submission, job.settings, site), site, read_file)
    programs = _Listening(scene)
    source = Text((Piece(job.script.source, 0),))
    shell = batch_shell(submission, job.settings, scene.allocation, site, source, job.arguments)
    scene.login, scene.first = login(submission), dict(shell.variables)
    home = submission.environment.get(b"HOME")
    scene.home = plain(home) if home else None
    if submission.scheduler == "pbs":
        from maple_submit_filter.schedulers import pbs_allocation as pbs

        scene.files[pbs.NODE_FILE.raw] = pbs.node_file(scene.allocation)
    for name, value in known.items():
        shell.variables[name] = Variable(plain(value), None, True)
    programs.listener.scene_source = job.script.source
    programs.interpreter.script(source, shell, Trail())
    return Played(tuple(programs.listener.heard), tuple(programs.launched), job)


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
        if not _prints(command):
            self._redirected(getattr(command, "redirects", ()), shell)
        if isinstance(command, Simple) and _name(command) == b"tee":
            self._tee(command, shell, "both")

    def _redirected(self, redirects: Sequence[Redirect], shell: Shell) -> None:
        roles = _roles(redirects)
        for redirect in redirects:
            if redirect.target is None or redirect not in roles:
                continue
            inside = [part for part in redirect.target.parts if isinstance(part, ProcessSub)]
            for part in inside:
                for one in _commands(part.body):
                    if isinstance(one, Simple) and _name(one) == b"tee":
                        self._tee(one, shell, roles[redirect])
            if not inside:
                self._note(word(_as_any_task(shell), redirect.target, self.substitute), shell, roles[redirect])

    def _tee(self, command: Simple, shell: Shell, role: Role) -> None:
        texts = [text for one in command.words[1:] for text in fields(_as_any_task(shell), one, self.substitute)]
        for text in texts:
            if not text.raw.startswith(b"-"):
                self._note(text, shell, role)

    def _note(self, path: Text, shell: Shell, role: Role) -> None:
        one = Written(path, shell.cwd, role, self.line, shell.place.task)
        if path.raw and all(seen[:3] != one[:3] for seen in self.heard):
            self.heard.append(one)

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
    other = shell.fork(shell.place._replace(node=None, task=None, local_task=None))
    for name, what in _OF_A_TASK.items():
        if name in shell.variables or name not in (b"RANK", b"LOCAL_RANK", b"HOSTNAME"):
            other.variables[name] = Variable(plain(token(b"vary", TASK_TOKEN + what)), None, True)
    return other


def _roles(redirects: Sequence[Redirect]) -> dict[Redirect, Role]:
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


def _name(command: Simple) -> bytes:
    """Return a command's own name, b"" where it is no plain word."""
    return _literal(command.words[0]).rsplit(b"/", 1)[-1] if command.words else b""


def _literal(one: bash.Word) -> bytes:
    return one.parts[0].text if len(one.parts) == 1 and isinstance(one.parts[0], bash.Literal) else b""


def _prints(command: Command) -> bool:
    """Return whether a command, or all that is inside of it, only writes data or messages."""
    if isinstance(command, Simple):
        words = [_literal(one) for one in command.words]
        named = [one for one in words[1:] if not one.startswith(b"-")] if _name(command) in _STARTING else []
        return not words or _name(command) in _PRINTING or not _PRINTING.isdisjoint((*named[:1], *named[-1:]))
    inner = list(_inside(command))
    return bool(inner) and all(_prints(one) for one in inner)


def _inside(command: Command) -> Iterator[Command]:
    if isinstance(command, (Pipeline, AndOr)):
        yield from command.commands
    elif isinstance(command, (Group, Loop)):
        yield from _commands(command.body)
    elif isinstance(command, If):
        for _, body in command.branches:
            yield from _commands(body)
        yield from _commands(command.otherwise)


def _commands(program: Optional[Program]) -> Iterator[Command]:
    for item in program.items if program is not None else ():
        if isinstance(item.command, (Pipeline, AndOr)):
            yield from item.command.commands
        else:
            yield item.command


__all__ = ["FILE_VARIABLES", "Launched", "Played", "TASK_TOKEN", "Written", "play"]
