"""Every launcher by its record. Whoever speaks of launchers in general asks here, so that a new one is one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Mapping, Tuple

from ..play import program_owner
from ..types.launch_plan import Around
from . import accelerate, deepspeed, horovodrun, ibrun, jsrun, mpiexec, remote, srun, torchrun
from .record import AgentOptions, Launcher

if TYPE_CHECKING:
    from ..play.scene import Launch

_EVERY: Tuple[Launcher, ...] = (
    srun.LAUNCHER,
    torchrun.LAUNCHER,
    accelerate.LAUNCHER,
    deepspeed.LAUNCHER,
    mpiexec.LAUNCHER,
    ibrun.LAUNCHER,
    jsrun.LAUNCHER,
    horovodrun.LAUNCHER,
    *remote.LAUNCHERS,
)
LAUNCHERS: Mapping[str, Launcher] = {one.name: one for one in _EVERY}
AGENTS: Mapping[str, AgentOptions] = {one.name: one.agent for one in _EVERY if one.agent is not None}
OUTER: Mapping[str, Launcher] = {one.name: one for one in _EVERY if one.outer}
OVER: Tuple[str, ...] = tuple(called for one in OUTER.values() for called in one.called or (one.name,))
BY_MODULE: Mapping[bytes, bytes] = {module: name for one in _EVERY for module, name in one.modules.items()}
NAMED: Mapping[str, Launcher] = {called: one for one in _EVERY for called in one.called or (one.name,)}
_FAMILY: Mapping[bytes, str] = {name: one.family for one in _EVERY for name in one.starts}


def registry() -> Dict[bytes, Launch]:
    """Return what starts each launcher, by the name it is called with."""
    return {name: start for one in _EVERY for name, start in one.starts.items()}


def family(name: bytes) -> str:
    """Return the family that a program of that name belongs to, "" for one that no rule relies on."""
    return _FAMILY[name] if name in _FAMILY else program_owner.family(name)


def foreign(name: bytes, around: Around) -> Tuple[str, ...]:
    """Return why a program of that *name* may not be the site's own in a shell of which *around* is known, () else."""
    name = name.rsplit(b"/", 1)[-1]
    return program_owner.foreign(name, family(name), around)
