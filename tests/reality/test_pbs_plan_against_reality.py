"""PBS: every known value of the plan is what the processes really got, and nearly every value is known."""

from __future__ import annotations

import os
import tempfile

import pytest
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.types.launch_plan import LaunchPlan

from tests.reality import pbs_field
from tests.reality.asked import planned, submission
from tests.reality.compare import Compared, compare, table
from tests.reality.corpus import Case, cases
from tests.reality.field import Ran, Work, lay_out
from tests.reality.verdict import why_broken

KNOWN = 0.95  # of all values there are to know


@pytest.fixture(scope="module")
def compared(pbs_corpora: list[Ran]) -> list[Compared]:
    """What qsub itself refuses is not planned, and nothing of it ran."""
    rows = [_row(ran) for ran in pbs_corpora if ran.state not in ("REFUSED", "NEVER") and _is_read(ran.case)]
    print("\n" + table(rows))
    return rows


def _is_read(case: Case) -> bool:
    return understood(submission(case, "/tmp"), None) is not None


def _row(ran: Ran) -> Compared:
    return compare(_plan(ran.case), ran, whole=why_broken(ran) is None)


def _plan(case: Case) -> LaunchPlan:
    with tempfile.TemporaryDirectory(prefix="maple-planned-") as folder:
        return planned(case, lay_out(Work(case), os.path.join(folder, "job")))


def test_every_known_value_is_what_the_processes_got(compared: list[Compared]) -> None:
    assert {row.name: row.wrong for row in compared if row.wrong} == {}


def test_nearly_every_value_is_known(compared: list[Compared]) -> None:
    """Of wrong scripts as many as came up before they died, which differs by run: they are not counted."""
    sound = [row for row in compared if "/wrong/" not in row.name]
    values = sum(row.values for row in sound)
    assert len(sound) >= 90 and values > 2000
    assert sum(row.known for row in sound) >= KNOWN * values


def test_worlds_from_two_to_twenty_four_ranks_are_compared(pbs_corpora: list[Ran], compared: list[Compared]) -> None:
    names = {row.name for row in compared if row.known}
    sizes = {fact["world_size"] for ran in pbs_corpora if ran.case.name in names for fact in ran.leaves}
    assert {2, 4, 8, 24} <= sizes


def test_a_wrong_plan_would_be_noticed() -> None:
    """The judge is judged: a plan for another script is not taken for this one's."""
    case = next(case for case in cases("right", "pbs") if case.name.endswith("alcf-polaris/torchrun-static-nodeid"))
    ran = pbs_field.run_all([Work(case)])[0]
    assert compare(_plan(case), ran, whole=True).wrong == ()
    script = (case.script or b"").replace(b"--nproc_per_node=4", b"--nproc_per_node=3")
    assert compare(_plan(case.with_script(script, case.words, case.name)), ran, whole=True).wrong != ()
