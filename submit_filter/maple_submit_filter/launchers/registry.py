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
LAUNCHERS: Mapping[str, Launcher] = {launcher.name: launcher for launcher in _EVERY}
AGENTS: Mapping[str, AgentOptions] = {
    launcher.name: launcher.agent for launcher in _EVERY if launcher.agent is not None
}
OUTER: Mapping[str, Launcher] = {launcher.name: launcher for launcher in _EVERY if launcher.outer}
OVER: Tuple[str, ...] = tuple(called for launcher in OUTER.values() for called in launcher.called or (launcher.name,))
BY_MODULE: Mapping[bytes, bytes] = {module: name for launcher in _EVERY for module, name in launcher.modules.items()}
NAMED: Mapping[str, Launcher] = {
    called: launcher for launcher in _EVERY for called in launcher.called or (launcher.name,)
}
_FAMILY: Mapping[bytes, str] = {name: launcher.family for launcher in _EVERY for name in launcher.starts}


def registry() -> Dict[bytes, Launch]:
    """Return what starts each launcher, by the name it is called with."""
    return {name: start for launcher in _EVERY for name, start in launcher.starts.items()}


def family(name: bytes) -> str:
    """Return the family that a program of that name belongs to, "" for one that no rule relies on."""
    return _FAMILY[name] if name in _FAMILY else program_owner.family(name)


def foreign(name: bytes, around: Around) -> Tuple[str, ...]:
    """Return why a program of that *name* may not be the site's own in a shell of which *around* is known, () else."""
    name = name.rsplit(b"/", 1)[-1]
    return program_owner.foreign(name, family(name), around)
