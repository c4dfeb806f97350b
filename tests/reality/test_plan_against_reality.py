"""Every known value of the plan is what the processes really got, and nearly every value is known."""

from __future__ import annotations

import os
import tempfile

import pytest

from tests.reality.asked import planned
from tests.reality.compare import Compared, compare, hosts, table
from tests.reality.corpus import Case, cases
from tests.reality.field import Ran, Work, lay_out, run_all
from tests.reality.shapes import shape_of
from tests.reality.verdict import why_broken

KNOWN = 0.95  # of all values there are to know


@pytest.fixture(scope="module")
def compared(corpora: list[Ran]) -> list[Compared]:
    rows = [_row(ran) for ran in corpora]
    print("\n" + table(rows))
    return rows


def _row(ran: Ran) -> Compared:
    with tempfile.TemporaryDirectory(prefix="maple-planned-") as folder:
        plan = planned(ran.case, lay_out(Work(ran.case), os.path.join(folder, "job")))
        return compare(plan, ran, whole=why_broken(ran) is None)


def test_every_known_value_is_what_the_processes_got(compared: list[Compared]) -> None:
    assert {row.name: row.wrong for row in compared if row.wrong} == {}


def test_nearly_every_value_is_known(compared: list[Compared]) -> None:
    """Where scripts can be read at all: those that hide their launch line are in the corpora, too."""
    values = sum(row.values for row in compared)
    assert len(compared) >= 60 and values > 1000
    assert sum(row.known for row in compared) >= KNOWN * values


def test_a_wrong_plan_would_be_noticed() -> None:
    """The judge is judged: a plan for another script is not taken for this one's."""
    case = next(case for case in cases("right") if case.name.endswith("generic-slurm/static-by-srun"))
    ran = run_all([Work(case)], shape_of)[0]
    assert compare(_plan(case), ran, whole=True).wrong == ()
    other = case.with_script(
        (case.script or b"").replace(b"--nproc_per_node=4", b"--nproc_per_node=3"), case.words, case.name
    )
    assert compare(_plan(other), ran, whole=True).wrong != ()


def _plan(case: Case):  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory(prefix="maple-planned-") as folder:
        return planned(case, lay_out(Work(case), os.path.join(folder, "job")))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("a-1", ["a-1"]),
        ("a-[1-3]", ["a-1", "a-2", "a-3"]),
        ("n[08-10,12]", ["n08", "n09", "n10", "n12"]),
        ("a-1,b-2", ["a-1", "b-2"]),
        ("", []),
    ],
)
def test_node_lists_are_read_in_order(nodes: str, expected: list[str]) -> None:
    assert hosts(nodes) == expected
