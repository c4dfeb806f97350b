"""ibrun, the MPI launcher of TACC: the MPI and the ranks follow from the job; options pick a part of it.

From TACC's user guides; it was not run. ibrun hands words that it does not know to nobody, so anything else that
begins with a dash is a problem.
"""

from __future__ import annotations

from .grammar import DASHES, Table, table

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
