"""What is found of wrong mappings, and that right scripts are left alone."""

from __future__ import annotations

import glob

from maple_agents.mapping.check import judged
from maple_agents.mapping.topology import Hardware, Machine
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.types.submission import Submission

from tests.agents.mapping.cases import GENERIC, cases, found, of_mapping
from tests.reality.asked import site, submission
from tests.reality.blind import SETS, read
from tests.submit_filter.test_worlds_kept_everywhere import decisions

RULES = ("MPL223", "MPL331")


def _of_rules(findings: set[str]) -> set[str]:
    return {one for one in findings if not one.startswith("MPL") or one.startswith(RULES)}


def test_wrong_mappings_are_found_where_they_stand() -> None:
    """At least 95 of a hundred, of sixty or more."""
    wrong = cases("wrong")
    missed = {case.name: found(case) for case in wrong if not set(case.finds) <= found(case)}
    assert len(wrong) >= 60 and len(missed) <= len(wrong) // 20, missed


def test_nothing_else_is_said_of_them() -> None:
    """A wrong mapping is one finding, by whatever rule and kind."""
    bound = [case for case in cases("wrong") if case.finds[0].startswith(("cores", "far"))]
    more = {case.name: _of_rules(found(case)) - set(case.finds) for case in bound}
    assert not {name: others for name, others in more.items() if others}


def test_right_mappings_are_left_alone() -> None:
    """Also those of which nothing can be known."""
    said = {case.name: _of_rules(found(case)) for case in cases("right")}
    assert len(said) >= 30 and not {name: one for name, one in said.items() if one}


def test_no_group_is_too_wide_where_direct_links_leave_the_node() -> None:
    """As in a rack of NVL72: the same script is told of where the domain is the node."""
    case = next(one for one in cases("wrong") if one.name == "rendezvous-of-wide-groups")
    asked = Submission("slurm", (b"sbatch", b"job.sh"), case.script, "file", b"job.sh", b"/work", 1000, {})
    plan = decide(asked, site(case.site), None).plan
    assert plan is not None
    said = {
        domain: [one.findings for one in judged(plan, case.script, Machine(Hardware(gpus=4, domain=domain)))]
        for domain in (None, 4, 72)
    }
    assert said[None] == said[4] != [()] and said[72] == [()]


def test_right_and_tricky_scripts_of_the_tree_are_left_alone() -> None:
    """All of them, of both schedulers."""
    said = {}
    for one, decision in decisions():
        if "right/" in one.name or "tricky/" in one.name:
            kinds = [finding.sentence for finding in of_mapping(decision, one.asked, one.site)]
            said[one.name] = kinds + [finding.says for finding in decision.findings if finding.code in RULES]
    assert len(said) > 200 and not {name: kinds for name, kinds in said.items() if kinds}


def test_right_scripts_of_blind_sets_are_left_alone() -> None:
    """Every script that its author labelled right."""
    said, count = {}, 0
    for name in sorted(glob.glob(f"{SETS}/*.toml")):
        for row in (one for one in read(name) if one.right):
            count += 1
            here = GENERIC.get(row.case.site) or site(row.case.site)
            asked = submission(row.case, "/work")
            decision = decide(asked, here, None)
            kinds = [finding.sentence for finding in of_mapping(decision, asked, here)]
            said[str(row.case.name)] = kinds + [one.says for one in decision.findings if one.code in RULES]
    assert count > 300 and not {name: kinds for name, kinds in said.items() if kinds}
