"""What is repaired of the scripts near the rules' cases is repaired for good: numbers and words that nobody wrote."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.bash.check import parses

from tests.submit_filter import neighbours, seen
from tests.submit_filter.test_worlds_kept_everywhere import Submitted, declared, started

NEAR = list(seen.near())
OTHER_WORLDS = (  # as of the cases themselves: test_worlds_kept_everywhere.py says why
    "MPL217/one-dash",
    "MPL305/pbs-expanded-too-early",
)


def test_a_title_says_which_neighbour_it_is() -> None:
    """Each that stands there is one of those that its case has, and none stands there twice."""
    names = [near.name for near in NEAR]
    assert len(set(names)) == len(names) > 400
    of_case = {case.name: set(neighbours.titles(case)) for case in neighbours.cases_by_name().values()}
    assert [name for name in names if name not in of_case[name.partition(" ")[0]]] == []


@pytest.mark.parametrize("near", NEAR, ids=lambda near: near.name)
def test_a_repaired_neighbour_is_repaired_for_good(near: Submitted) -> None:
    """It parses, has as many lines and the worlds that were declared, and nothing is proven or made of it again."""
    name, asked, site, read = near
    decided = decide(asked, site, read)
    if decided.repaired is None or decided.plan is None:
        return
    made = asked._replace(script=decided.repaired.script or asked.script, argv=decided.repaired.argv)
    again = decide(made, site, read)
    assert parses(made.script or b"") and (made.script or b"").count(b"\n") == (asked.script or b"").count(b"\n")
    assert again.repaired is None and not any(finding.proven for finding in again.findings)
    after = again.plan.steps if again.plan is not None else ()
    worlds = {(tuple(declared(old)), tuple(started(new, after))) for old, new in zip(decided.plan.steps, after)}
    assert name.startswith(OTHER_WORLDS) or all(set(was) == set(now) for was, now in worlds if was)
