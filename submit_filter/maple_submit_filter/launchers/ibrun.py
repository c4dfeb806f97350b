"""ibrun, TACC's launcher: as many ranks as the job has tasks, laid out as the job is. From TACC's guides; not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Shell
from ..types.text import Text
from .grammar import followed, link, option_number, read
from .ibrun_options import TABLE
from .mpiexec import run_in
from .steering_variables import anywhere, steered

if TYPE_CHECKING:
    from ..play.starter import Starter


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank."""
    reading = read(TABLE, argv, 1)
    one = link("ibrun", argv, reading)
    if reading.program >= len(argv):
        return
    trail = followed(trail, one, reading)
    asked, tasks = option_number(one, "n", "np")
    offset_said, offset = option_number(one, "o")
    shape = _shape(programs, asked, tasks, offset_said, offset)
    if one.open or steered("ibrun", shell):
        shape = anywhere(shape)
    programs.scene.shapes[trail.key] = (trail, shape)
    run_in(programs, argv[reading.program :], shell, trail, shape, given)


def _shape(programs: Starter, asked: bool, tasks: Optional[int], offset_said: bool, offset: Optional[int]) -> StepShape:
    given = programs.scene.allocation
    if given.nodes is None or given.tasks_per_node is None or given.tasks is None:
        return StepShape(given.nodes, tasks if asked else given.tasks, None, False, "")
    if not asked:
        layout = (given.tasks_per_node,) * given.nodes
        return StepShape(given.nodes, given.tasks, layout, given.tasks > MOST_TASKS, "")
    if tasks is not None and tasks > given.tasks:
        return StepShape(None, None, None, False, "")  # what ibrun does with more than the job has is not documented
    if tasks is None or (offset_said and offset != 0):
        return StepShape(0 if offset_said else None, tasks, None, False, "")
    full, rest = divmod(tasks, given.tasks_per_node)
    layout = (given.tasks_per_node,) * full + ((rest,) if rest else ())
    return StepShape(len(layout), tasks, layout, tasks > MOST_TASKS, "")
