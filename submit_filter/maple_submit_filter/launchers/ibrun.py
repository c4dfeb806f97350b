"""ibrun, TACC's launcher: as many ranks as the job has tasks, laid out as the job is; options pick a part of it.

From TACC's user guides; it was not run. ibrun hands words that it does not know to nobody, so anything else that
begins with a dash is a problem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional

from ..play.program_owner import SCHEDULER
from ..play.scene import MOST_TASKS, StepShape, Trail
from ..play.shell_state import Shell
from ..types.text import Text
from .grammar import DASHES, Table, followed, link_of, option_number, read, table
from .mpiexec import run_in
from .record import Launcher, RankWords

if TYPE_CHECKING:
    from ..play.scene import Starter

_STEERED = re.compile(rb"(TACC_TASKS_PER_NODE|TACC_\w*(TASKS|HOST|NODE)\w*|IBRUN_\w+|MY_\w*(SLOTS|TASKS|HOST)\w*)\Z")
TABLE: Table = table(
    "ibrun",
    DASHES,
    """
    -n -np 1
    -o 1
    -npernode -ppn 1 only other releases
    -d -debug 0
    -v 0
    -h -help 0
    """,
    equals=False,
    ends=False,
)


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Start the program in every rank."""
    reading = read(TABLE, argv, 1)
    link = link_of("ibrun", argv, reading)
    if reading.program >= len(argv):
        return
    trail = followed(trail, link, reading)
    asked, tasks = option_number(link, "n", "np")
    offset_said, offset = option_number(link, "o")
    shape = _shape(programs, asked, tasks, offset_said, offset)
    if link.open or shell.exports(_STEERED):
        shape = shape.anywhere()
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


LAUNCHER = Launcher(
    "ibrun",
    {b"ibrun": start},
    SCHEDULER,
    table=TABLE,
    outer=True,
    words=RankWords(b"PMI_RANK", b"MPI_LOCALRANKID", b"PMI_RANK", b"PMI_SIZE"),
    steered=_STEERED,
)
