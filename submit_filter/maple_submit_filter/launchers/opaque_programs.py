"""Programs that nobody has read, where they may start what the script waits for: on other nodes, or beside it.

A world that is short of agents proves nothing while such a program runs: `./start_on_node.sh $node &` may be the rest.
"""

from __future__ import annotations

import re
from typing import Sequence

from ..play.scene import Trail
from ..types.text import Text

_SCRIPT = re.compile(rb"\.(?:sh|bash|ksh|csh|zsh|pl)\Z")
_NODE = re.compile(rb"\0(?:host|addr|name|nodelist|nodefile)\b")
_COMMANDS = re.compile(rb"[;&|\n]+")
_REMOTE = frozenset(("ssh", "pbs_tmrsh", "pbsdsh"))
# Programs that start no training wherever they run.
_HARMLESS = frozenset(
    b"mkdir rm rmdir cp mv ln ls cat touch chmod rsync scp tar unzip hostname uname date echo printf sleep true test [ "
    b"cd export source module ml nvidia-smi rocm-smi xpu-smi numactl free df du uptime top pkill kill killall ps grep "
    b"head tail tee dstat vmstat iostat dcgmi nvtop htop wc sort find id env printenv ulimit sync sed awk ray".split()
)
# Commands of the shell that are no programs: a launcher cannot start them.
OF_THE_SHELL = frozenset(
    b"source . export module ml set unset alias eval declare local typeset shopt readonly shift for if while".split()
)
# What a text holds that may start a launcher.
LAUNCHER_MARKS = (
    b"torchrun",
    b"torch.distributed",
    b"accelerate",
    b"deepspeed",
    b"srun",
    b"mpirun",
    b"mpiexec",
    b"python",
)


def harmless(words: bytes) -> bool:
    """Return whether a command text surely starts nothing but small well-known programs."""
    heads = [part.split()[0] for part in _COMMANDS.split(words) if part.split()]
    return all(head.rsplit(b"/", 1)[-1].strip(b"\"'") in _HARMLESS for head in heads)


def strange(argv: Sequence[Text], trail: Trail, python: bool) -> bool:
    """Return whether a program may start agents of a world by itself.

    A shell script that could not be read may; so may what runs in the background, if it has a path or is told nodes,
    and what was sent to another node.
    """
    if not argv:
        return False
    name = argv[0].raw.rsplit(b"/", 1)[-1]
    if name in _HARMLESS:
        return False
    if _SCRIPT.search(name):
        return True
    if trail.background and (not python and b"/" in argv[0].raw or any(_NODE.search(text.raw) for text in argv[1:])):
        return True
    return not python and bool(trail.links) and trail.links[-1].name in _REMOTE
