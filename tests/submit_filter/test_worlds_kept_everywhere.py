"""Over every script in the tree: what is repaired unasked starts the worlds that were declared."""

from __future__ import annotations

import random
from functools import cache
from typing import Callable, Iterator, NamedTuple, Optional, Sequence

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.launch_plan import Step
from maple_submit_filter.types.submission import Submission

from tests.reality import corpus
from tests.reality.asked import site, submission
from tests.reality.mutants import PBS, SLURM, mutants
from tests.submit_filter import rule_cases

Play = Callable[[Submission], Decision]
FOLDERS = (rule_cases.FOLDER, rule_cases.OF_LAUNCH)


class Submitted(NamedTuple):
    """A submission in the tree, with its name, its site, and what reads its files."""

    name: str
    asked: Submission
    site: Site
    read: Optional[Callable[[bytes], Optional[bytes]]]


@cache
def everything() -> tuple[Submitted, ...]:
    """Every submission in the tree."""
    return tuple(_everything())


@cache
def decisions() -> tuple[tuple[Submitted, Decision], ...]:
    """What is decided of each: several tests look at it from their sides, and deciding is what takes their time."""
    return tuple((one, decide(one.asked, one.site, one.read)) for one in everything())


def _everything() -> Iterator[Submitted]:
    for kind in ("right", "tricky", "wrong"):
        for scheduler in ("slurm", "pbs"):
            for case in corpus.cases(kind, scheduler):
                yield Submitted(case.name, submission(case, "/work"), site(case.site), None)
    for folder in FOLDERS:
        for one in rule_cases.cases(folder):
            yield Submitted(str(one), one.submission, one.site, one.read if one.disk is not None else None)


def changed_worlds() -> tuple[int, dict[str, list[tuple[int, list[int], list[int]]]]]:
    """How many submissions are repaired, and of which of them a launch line starts other sizes than it declared."""
    repaired, other = 0, {}
    for (name, asked, here, read), decision in decisions():
        if decision.repaired is None or decision.plan is None:
            continue
        repaired += 1
        again = decide(asked._replace(script=decision.repaired.script, argv=decision.repaired.argv), here, read)
        after = again.plan.steps if again.plan is not None else ()
        steps = zip(decision.plan.steps, after)
        lines = [(old.line, declared(old), started(new, after)) for old, new in steps]
        wrong = [one for one in lines if one[1] and set(one[1]) != set(one[2])]
        if wrong:
            other[name] = wrong
    return repaired, other


def declared(step: Step) -> list[int]:
    return sorted(group.declared for group in step.groups if group.declared)


def started(step: Step, beside: Sequence[Step] = ()) -> list[int]:
    """The sizes of a launch line's worlds; a world that turns of a loop form together stands at one of them."""
    turns = [one for one in beside if one.span == step.span] if not step.groups else [step]
    return sorted(group.world_size for one in turns for group in one.groups if group.world_size)


def test_every_repair_in_the_tree_starts_the_worlds_that_were_declared() -> None:
    """The exceptions are declared worlds that the job has no room for, or counts that were written and not read."""
    repaired, other = changed_worlds()
    assert repaired > 100
    assert other == {
        "pbs/wrong/nodes-counted-by-lines": [(11, [32], [8])],  # the node file's lines are counted as nodes
        "MPL303/pbs-nodes-counted-by-lines": [(9, [32], [8])],
        "MPL303/the-number-of-tasks": [(5, [16], [8])],  # twice as many nodes as tasks, on two nodes
        "MPL306/a-large-world-of-another-size": [
            (5, [128], [256])
        ],  # four GPUs a node were counted, and eight asked for
        "MPL305/beside-a-wrong-world-size": [(7, [4], [8])],  # the same, beside ranks that came too early
        "MPL306/exported": [(5, [4], [8])],  # as many tasks as GPUs, and a smaller number that is said
        "pbs/wrong/world-size-from-six-cards": [(12, [12], [24])],
        "wrong/world-size-too-small": [(5, [2], [4])],
        "MPL108/two-breaks": [(4, [2, 2], [8])],  # the words behind the break say four workers and two nodes
        "MPL108/no-backslash-of-an-agent": [(6, [2, 2], [8])],  # so do the words that the next line has
        "MPL333/a-function": [(10, [2], [8])],  # srun found no program of that name: two tasks of none
        "MPL333/a-function-not-exported": [(9, [2], [8])],
        "MPL314/a-dash": [(3, [1, 1], [4, 4])],  # the long dash hid the number
        "MPL314/a-command-that-was-not-quoted": [
            (5, [1, 1], [8])
        ],  # bash -c took its first word alone: no option was read
        "MPL217/one-dash": [(6, [4], [])],  # -nodes=2 was no number of tasks; a program of its own now has eight
        "MPL203/slots-beyond-the-node": [(6, [16], [8])],  # eight ranks on each node of four GPUs
        "MPL203/slots-of-the-hostfile-that-is-read": [(4, [16], [8])],
        "MPL321/a-line-in-quotes": [(5, [2], [8])],  # the quotes hid torchrun: two tasks of no program
    }


def test_a_repaired_mutant_starts_what_it_declares_or_what_the_right_script_starts() -> None:
    """Not run: what each makes of a lab is counted by `make bench-mutants` ("same worlds")."""
    repaired, other = 0, {}
    for within in (SLURM, PBS):
        origins = within.origins()
        made = random.Random(20261122).sample(mutants(origins, 20261122, within=within), 250)
        for one in made:
            here, asked = site(one.case.site), submission(one.case, "/work")
            decision = decide(asked, here, None)
            if decision.repaired is None or decision.plan is None:
                continue
            repaired += 1
            made_of_it = asked._replace(script=decision.repaired.script, argv=decision.repaired.argv)
            again = decide(made_of_it, here, None).plan
            right = decide(submission(one.origin, "/work"), here, None).plan
            meant = {size for step in decision.plan.steps for size in declared(step)}
            meant |= {size for step in (right.steps if right is not None else ()) for size in started(step)}
            sizes = {size for step in (again.steps if again is not None else ()) for size in started(step)}
            if not sizes <= meant:
                other[one.case.name] = (sorted(meant), sorted(sizes))
    assert repaired > 25
    assert other == {}
