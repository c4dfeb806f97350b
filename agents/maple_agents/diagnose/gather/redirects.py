"""Where a command's output goes, and whether it is a log: from how the command is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Optional

from maple_submit_filter.bash import nodes
from maple_submit_filter.bash.nodes import AndOr, Command, Group, If, Loop, Pipeline, Program, Redirect, Simple

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


def _literal(one: nodes.Word) -> bytes:
    return one.parts[0].text if len(one.parts) == 1 and isinstance(one.parts[0], nodes.Literal) else b""


def prints(command: Command) -> bool:
    """Return whether a command, or all that is inside of it, only writes data or messages."""
    if isinstance(command, Simple):
        words = [_literal(one) for one in command.words]
        named = [one for one in words[1:] if not one.startswith(b"-")] if name_of(command) in _STARTING else []
        return not words or name_of(command) in _PRINTING or not _PRINTING.isdisjoint((*named[:1], *named[-1:]))
    inner = list(_inside(command))
    return bool(inner) and all(prints(one) for one in inner)


def passed_on(command: Pipeline) -> Optional[Simple]:
    """Return the last command of a pipe where it hands on what a program says, None where it does not."""
    *before, last = command.commands
    if not isinstance(last, Simple) or name_of(last) not in _PASSING or all(prints(one) for one in before):
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
