"""No finding is proven by a fact that the site file is not sure of: shown for every fact of every rule's case."""

from __future__ import annotations

import re
from functools import cache
from typing import Iterator

import pytest
from maple_agents.ask.sites import path
from maple_agents.ask.sites.facts import site_of
from maple_agents.ask.sites.files import parse
from maple_submit_filter.answer.decision import decide, examined, explained, understood
from maple_submit_filter.repair.certainty import NOT_SURE, certain, plays_alike, rests_on
from maple_submit_filter.site.facts import GpuRequest, NodeKind, Partition, Site
from maple_submit_filter.types.edits import Safety

from tests.submit_filter import rule_cases
from tests.submit_filter.rule_cases import OF_LAUNCH as LAUNCH

FEWEST = 60  # cases that a fact has proven something in; fewer would mean that this file has gone blind
CASES = [case for case in rule_cases.cases() + rule_cases.cases(LAUNCH) if case.site.revision != "0" and case.expected]
BY_NAME = {str(case): case for case in CASES}


def proven(case: rule_cases.RuleCase, site: Site) -> set[tuple[str, object]]:
    """What is proven of the case's submission, by any rule."""
    job = understood(case.submission, case.read if case.disk is not None else None)
    assert job is not None
    return {(one.code, one.at) for one in examined(job, site).findings if one.proven}


@cache
def resting(name: str) -> dict[str, set[tuple[str, object]]]:
    """What is proven of the case of that name and would not be if a table had it all wrong, by the table's key."""
    case = BY_NAME[name]
    here = proven(case, case.site)
    lost = {key: here - proven(case, otherwise(case.site, key)) for key in keys(case.site)} if here else {}
    return {key: those for key, those in lost.items() if those}


def keys(site: Site) -> Iterator[str]:
    """Every table of the site file that a rule may hear of."""
    yield from ("scheduler", "gpu_request", "network")
    yield from ("node." + one.name for one in site.kinds)
    yield from dict.fromkeys("%s.%s" % (one.selector, one.name) for one in site.partitions)
    yield from (one.key for one in (*site.demands, *site.refusals, *site.launchers))


def otherwise(site: Site, key: str) -> Site:
    """The site if the table of that key had it all wrong: what it says is not so, whatever that was."""
    name = key.partition(".")[2]
    return site._replace(
        kinds=tuple(_other_kind(one) if key == "node." + one.name else one for one in site.kinds),
        partitions=tuple(
            _other_place(one) if key == "%s.%s" % (one.selector, name) and one.name == name else one
            for one in site.partitions
        ),
        demands=tuple(one._replace(effect="unknown") if one.key == key else one for one in site.demands),
        refusals=tuple(one._replace(effect="unknown") if one.key == key else one for one in site.refusals),
        launchers=tuple(one._replace(state="present", maker="") if one.key == key else one for one in site.launchers),
        gpu_request=GpuRequest() if key == "gpu_request" else site.gpu_request,
        version=() if key == "scheduler" else site.version,
        partitions_complete=site.partitions_complete and key != "scheduler",
        kinds_complete=site.kinds_complete and key != "scheduler",
        default_partition="" if key == "scheduler" else site.default_partition,
        default_qos="" if key == "scheduler" else site.default_qos,
        srun_inherits_cpus=None if key == "scheduler" else site.srun_inherits_cpus,
    )


def _other_kind(one: NodeKind) -> NodeKind:
    many = {name: 999 for name in ("gpus", "cores", "memory_gib") if getattr(one, name) is not None}
    vendor = {"intel": "nvidia"}.get(one.gpu_vendor, one.gpu_vendor)
    return one._replace(**many, threads_per_core=4, gpu_vendor=vendor, gpu_type="", features=())


def _other_place(one: Partition) -> Partition:
    return Partition(one.name, one.selector, min_nodes=0, routed=one.routed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fact_that_is_not_sure_proves_nothing(case: rule_cases.RuleCase) -> None:
    """Whatever would not be found if the fact were otherwise is not proven once the file is not sure of it."""
    for key, rests_on_it in resting(str(case)).items():
        unsure = case.site._replace(unsure=(*case.site.unsure, key))
        assert not rests_on_it & proven(case, unsure), key


def test_enough_rests_on_facts() -> None:
    """Guards the test above: without facts that prove something it would say nothing."""
    those = [case for case in CASES if resting(str(case))]
    print("%d of %d cases of sites rest on a fact" % (len(those), len(CASES)))
    assert len(those) >= FEWEST


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_is_changed_by_facts_that_are_not_sure(case: rule_cases.RuleCase) -> None:
    """With no fact held for sure, what is repaired is what would be repaired where nothing is known of the site."""
    vague = case.site._replace(unsure=tuple(keys(case.site)))
    decision = decide(case.submission, vague, None)
    if decision.repaired is not None:
        bare = Site(case.site.id, "0", case.site.scheduler, launch_templates=case.site.launch_templates)
        assert decision.repaired == decide(case.submission, bare, None).repaired


def test_a_faster_network_that_is_not_sure_is_in_no_repair() -> None:
    """A host name with a suffix that nobody has is none."""
    case = next(one for one in rule_cases.cases(LAUNCH) if str(one) == "MPL402/nobody-set-it")
    site = case.site._replace(node_name_suffix="-ib")
    sure = decide(case.submission, site, None).repaired
    vague = decide(case.submission, site._replace(unsure=("network",)), None).repaired
    assert sure is not None and sure.script is not None and b"-ib:29500" in sure.script
    assert vague is not None and vague.script == case.submitted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_plays_alike_makes_the_same_plan(case: rule_cases.RuleCase) -> None:
    """So that it need not be played again: for each fact that is not sure, and for all of them."""
    job = understood(case.submission, case.read if case.disk is not None else None)
    assert job is not None
    whole = examined(job, case.site._replace(unsure=())).plan
    for unsure in (case.site.unsure, tuple(keys(case.site)), ("gpu_request",), ("scheduler",)):
        other = certain(case.site._replace(unsure=unsure))
        if plays_alike(job, case.site, other):
            assert examined(job, other).plan == whole


def test_a_doubted_finding_is_still_told() -> None:
    """As advice that names the table, with its change as a suggestion: none that could be made unasked."""
    case = next(one for one in CASES if str(one) == "MPL206/too-long")
    (sure,) = [one for one in rule_cases.found(case) if one.proven]
    vague = case._replace(site=case.site._replace(unsure=(sure.site_fact,)))
    (told,) = rule_cases.found(vague)
    assert (told.proven, told.says) == (False, sure.says)
    assert [one.says for one in told.fixes] == [one.says for one in sure.fixes]
    assert {one.safety for one in told.fixes} == {Safety.ASK}
    assert "does not confirm %s" % sure.site_fact in told.help
    assert re.search(r"\. [a-z]", told.help) is None  # sentences


@pytest.mark.parametrize("case", [case for case in CASES if len(list(keys(case.site))) < 20], ids=str)
def test_the_facts_that_advice_rests_on_are_named(case: rule_cases.RuleCase) -> None:
    """Where nothing is sure, each is needed: with all of the named ones sure it holds, without any one it does not."""
    site = case.site._replace(unsure=tuple(dict.fromkeys(keys(case.site))))
    job = understood(case.submission, case.read if case.disk is not None else None)
    assert job is not None
    for one in examined(job, site).findings:
        if NOT_SURE not in one.help or one.code != case.code:
            continue
        facts = rests_on(one, site, lambda here: proven(case, here))
        sure = site._replace(unsure=tuple(key for key in site.unsure if key not in facts))
        assert facts and (one.code, one.at) in proven(case, sure)
        for key in facts:
            assert (one.code, one.at) not in proven(case, sure._replace(unsure=(*sure.unsure, key)))


def test_check_names_the_fact() -> None:
    """In the help, where the rule itself does not say a key."""
    case = next(one for one in CASES if str(one) == "MPL204/a-type-that-is-not-there")
    decision = explained(decide(case.submission, case.site, None), case.submission, case.site, None)
    (told,) = [one for one in decision.findings if one.code == "MPL204"]
    facts = told.help.partition(NOT_SURE)[2].split(" and ")
    assert facts[0] == "node.h100-80" and set(facts) < set(case.site.unsure)


def test_the_site_file_s_confidence_reaches_the_snapshot() -> None:
    """Of every kind of table; what the centre itself says is sure."""
    with open(path("psc-bridges2"), "rb") as source:
        file = parse(source.read(), "psc-bridges2.toml")
    for section in ("scheduler", "gpu_request", "network"):
        table = getattr(file, section)
        if table is not None:
            _lowered(file.model_copy(update={section: table.model_copy(update={"confidence": "medium"})}), section)
            assert section not in _unsure_with(file, section, table)
    for section in ("node", "partition", "qos", "queue", "demand", "refusal", "launcher"):
        for name, table in getattr(file, section).items():
            for confidence in ("medium", "low"):
                changed = {**getattr(file, section), name: table.model_copy(update={"confidence": confidence})}
                _lowered(file.model_copy(update={section: changed}), "%s.%s" % (section, name))


def _lowered(file: object, key: str) -> None:
    assert key in site_of(file).unsure  # type: ignore[arg-type]


def _unsure_with(file: object, section: str, table: object) -> tuple[str, ...]:
    sure = table.model_copy(update={"confidence": None})  # type: ignore[attr-defined]
    return site_of(file.model_copy(update={section: sure})).unsure  # type: ignore[attr-defined]
