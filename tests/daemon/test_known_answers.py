"""What is worked out once for a decision that is known is the same for whoever asks next, in whichever mode."""

from __future__ import annotations

import itertools
import json
from typing import Optional

import pytest
from maple_daemon.decide.exact import UNTOLD, Memory, known_of
from maple_submit_filter.answer import decision as decide
from maple_submit_filter.answer import packing
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.host.frames import Change, Reply, Request
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.submission import Submission

from tests.bench.scripts import script
from tests.daemon.serving import WRONG, request
from tests.submit_filter import rule_cases

OF_PBS = b"#!/bin/bash\n#PBS -l select=2:ncpus=4\nmpiexec -n 2 python train.py $PBS_NODEFILE\n"
SILENT = b"# maple: ignore MPL301\n" + script(30, 1)
OPEN = WRONG + b"cat <<END\n"
SCRIPTS = {
    "right": script(30),
    "wrong": script(30, 1),
    "very wrong": script(30, 3),
    "of pbs": OF_PBS,
    "silenced": SILENT,
    "an open end": OPEN,
    "asks for its path": WRONG + b"scontrol show job $SLURM_JOB_ID | grep Command\n",
}


OFFERED = {str(case): case.submission.script or b"" for case in rule_cases.cases(rule_cases.OF_LAUNCH)
           if str(case) in ("MPL203/eight-on-four", "MPL303/a-typed-number")}  # fmt: skip
SCRIPTS |= OFFERED


def forms(source: bytes) -> list[tuple[Request, Site]]:
    """The submission by `sbatch job.sh`, by `--wrap`, and by qsub; each with a nonce of its own."""
    plain = request(source)
    wrap = Submission("slurm", (b"sbatch", b"--wrap=" + source), source, "wrap", b"", b"/", 0, {})
    qsub = plain.submission._replace(scheduler="pbs", argv=(b"qsub", b"job.sh"))
    return [(plain, GENERIC_SLURM), (plain._replace(submission=wrap, offset=7), GENERIC_SLURM),
            (plain._replace(submission=qsub), GENERIC_PBS)]  # fmt: skip


def timeless(reply: Reply) -> Reply:
    """The reply without the moment that its audit lines name."""

    def line(audit: bytes) -> bytes:
        return json.dumps({**json.loads(audit), "time": ""}).encode() if audit else b""

    def change(one: Optional[Change]) -> Optional[Change]:
        return one._replace(audit=line(one.audit)) if one else None

    return reply._replace(audit=line(reply.audit), change=change(reply.change), offer=change(reply.offer))


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_answer_from_what_was_worked_out_before_is_the_one_from_nothing(name: str) -> None:
    """Every mode, with and without a terminal and somebody to ask, in an order in which each comes after each."""
    for asked, site in forms(SCRIPTS[name]):
        decision = decide.decide(answer.whole(asked.submission), site, None)
        known = known_of(packing.pack(decision))
        assert known.decision is not None
        ways = list(itertools.product(("observe", "warn", "repair"), (False, True), (False, True)))
        for mode, terminal, may_ask in [*ways, *reversed(ways)]:
            one = asked._replace(terminal=terminal, may_ask=may_ask, nonce=bytes([terminal, may_ask]) * 8)
            fresh = answer.answered(one, site, Policy(), mode, known.decision)
            again = answer.answered(one, site, Policy(), mode, known.decision, once=known.once)
            assert timeless(again) == timeless(fresh), (mode, terminal, may_ask)


def test_something_is_offered_in_the_cases_above() -> None:
    """So that an offer that was worked out before is held against a fresh one."""
    assert len(OFFERED) == 2
    for source in OFFERED.values():
        asked = request(source)
        decision = decide.decide(asked.submission, GENERIC_SLURM, None)
        reply = answer.answered(asked._replace(may_ask=True), GENERIC_SLURM, Policy(), "repair", decision)
        assert decision.repaired is None and reply.offer is not None


def test_a_policy_that_changed_holds_at_once() -> None:
    """What is remembered is not what the policy says of it."""
    asked = request(WRONG)
    known = known_of(packing.pack(decide.decide(asked.submission, GENERIC_SLURM, None)))
    assert known.decision is not None and known.decision.repaired is not None
    for _ in range(2):
        less = Policy(rules={code: "warn" for _, code in known.decision.repaired.because})
        for policy, changed in ((Policy(), True), (less, False)):
            reply = answer.answered(asked, GENERIC_SLURM, policy, "repair", known.decision, once=known.once)
            assert (reply.change is not None) == changed


def test_what_is_held_is_counted_by_what_it_was_packed_in() -> None:
    """And stays within its bound, whatever is put in again."""
    packed = packing.pack(decide.decide(request(WRONG).submission, GENERIC_SLURM, None))
    memory = Memory(20 * (len(packed) + 2048))
    for number in range(100):
        memory.put(b"%d" % (number % 40), known_of(packed) if number % 3 else UNTOLD)
    assert memory.size <= 20 * (len(packed) + 2048) and 15 < len(memory) < 41
    memory.clear()
    assert (memory.size, len(memory)) == (0, 0)


@pytest.mark.parametrize("packed", [b"", b"{}", b"[]", b"\xff", b'{"format":1}', b'{"format":2}'], ids=repr)
def test_what_was_not_packed_so_is_not_known(packed: bytes) -> None:
    """A damaged store, or another revision's."""
    with pytest.raises(ValueError):
        known_of(packed)
