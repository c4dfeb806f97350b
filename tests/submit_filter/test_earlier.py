"""What earlier jobs came to decides over the same change and no other: byte for byte, and on the same grounds."""

from __future__ import annotations

import json
import random
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.answer import earlier
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.answer.earlier import Earlier, Good
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH -N 2\nsrun --ntasks-per-node=8 python train.py --lr 0.1\necho done\n"
CURED = SCRIPT.replace(b"node=8", b"node=4")
FINDING = Finding("MPL203", "8 ranks per node, but these nodes have 4 GPUs", Span(25, 30), True)
ARGV = (b"sbatch", b"job.sh")
NEW = Rewritten(CURED, ARGV, ("MPL203 --ntasks-per-node=4",), ((3, "MPL203"),))
ASK = Decision("findings", (FINDING,), offered=NEW)
REPAIR = Policy()
SAFE = Decision("repaired", (FINDING,), repaired=NEW, offered=NEW)


def submission(script: bytes = SCRIPT) -> Submission:
    """One as the front sends it."""
    return Submission("slurm", ARGV, script, "file", b"job.sh", b"/work", 1000, {})


def known(decision: Decision, *, good: bool, revision: bytes = b"1", script: bytes = SCRIPT) -> Earlier:
    """What is known after job 4711 with what was proposed here."""
    made = earlier.proposed(decision)
    assert made is not None
    change = earlier.change_of(submission(script), made)
    grounds = earlier.grounds_of(decision, made, revision)
    return Earlier({change: Good("4711", grounds)} if good else {}, {} if good else {change: "4711"}, b"1")


def reply(
    decision: Decision,
    knows: Optional[Earlier],
    policy: Policy = REPAIR,
    script: bytes = SCRIPT,
    may_ask: bool = True,
) -> Reply:
    """What the front is told."""
    request = Request(b"n" * 16, b"h" * 32, submission(script), 1, 0, may_ask, True)
    return answer.answered(request, GENERIC_SLURM, policy, policy.mode, decision, knows)


def verdict(one: Reply) -> str:
    """The audit line's."""
    line = one.change.audit if one.change else one.audit
    return str(json.loads(line)["verdict"])


@pytest.mark.parametrize("may_ask", [True, False])
def test_what_was_accepted_and_ran_is_made_without_asking(may_ask: bool) -> None:
    """One line says so; also where nobody could be asked."""
    made = reply(ASK, known(ASK, good=True), may_ask=may_ask)
    assert made.change is not None and (made.change.script or b"").startswith(CURED)
    assert made.offer is None and made.question == b""
    assert b"maple: job.sh: changed as in job 4711, which ran: MPL203 --ntasks-per-node=4\n" in made.say
    assert verdict(made) == "known-good"
    asked = reply(ASK, None, may_ask=may_ask)
    assert asked.change is None and (asked.offer is not None) == may_ask


@pytest.mark.parametrize("decision", [ASK, SAFE], ids=["asked", "safe"])
def test_what_failed_at_once_is_neither_made_nor_offered(decision: Decision) -> None:
    """The script goes as written, and one line says why."""
    made = reply(decision, known(decision, good=False))
    assert (made.change, made.offer, verdict(made)) == (None, None, "taken-back")
    assert made.say == (
        b"maple: job.sh: submitted as written: job 4711 failed at once with the change\n"
        b"maple:   for MPL203. Why: maple-fix 4711\n"
    )


OTHERS = {
    "replacement": ASK._replace(offered=NEW._replace(script=SCRIPT.replace(b"node=8", b"node=2"))),
    "blank": ASK._replace(offered=NEW._replace(script=SCRIPT.replace(b"node=8 ", b"node=4  "))),
    "another line too": ASK._replace(offered=NEW._replace(script=CURED.replace(b"-N 2", b"-N 1"))),
    "words": ASK._replace(offered=NEW._replace(argv=(b"sbatch", b"-n4", b"job.sh"))),
    "rule": ASK._replace(offered=NEW._replace(because=((3, "MPL204"),))),
    "what it says": ASK._replace(offered=NEW._replace(says=("MPL203 four",))),
    "what is found": ASK._replace(findings=(FINDING._replace(says="8 ranks, but 6 GPUs"),)),
    "one more finding": ASK._replace(findings=(FINDING, FINDING._replace(code="MPL304"))),
    "line more": ASK._replace(offered=NEW._replace(script=CURED + b"echo more\n")),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_change_or_other_grounds_are_asked_about(other: Decision) -> None:
    """A byte more or less is another change."""
    made = reply(other, known(ASK, good=True))
    assert made.change is None and made.offer is not None


def test_a_change_of_many_lines_is_not_recognised() -> None:
    """Nobody waits for it, and nothing is learnt of it."""
    for script in (b"echo a\n" * 200, b"echo " + b"a " * 20_000):
        made = Rewritten(script.replace(b"a", b"b"), ARGV, (), ((1, "MPL203"),))
        assert earlier.change_of(submission(script), made) == ""


def test_another_revision_of_rules_or_site_asks_again() -> None:
    """And what failed stays taken back: the bytes are the same."""
    assert reply(ASK, known(ASK, good=True)._replace(revision=b"2")).offer is not None
    assert verdict(reply(SAFE, known(SAFE, good=False)._replace(revision=b"2"))) == "taken-back"


@pytest.mark.parametrize("old, new", [(b"--lr 0.1", b"--lr 0.2"), (b"echo done\n", b"echo well\nexit\n")])
def test_an_edit_elsewhere_leaves_the_change_what_it_is(old: bytes, new: bytes) -> None:
    """Also on the very line, which a sweep edits each time."""
    script, cured = SCRIPT.replace(old, new), CURED.replace(old, new)
    edited = ASK._replace(offered=NEW._replace(script=cured))
    assert verdict(reply(edited, known(ASK, good=True), script=script)) == "known-good"
    assert known(ASK, good=False) == known(edited, good=False, script=script)


@pytest.mark.parametrize(
    "policy", [Policy("observe"), Policy("warn"), Policy("repair", rules={"MPL203": "warn"})], ids=str
)
@pytest.mark.parametrize("good", [True, False])
def test_a_weaker_mode_changes_nothing_and_says_what_it_said(policy: Policy, good: bool) -> None:
    """What is not changed is not taken back either."""
    for decision in (ASK, SAFE):
        now, before = reply(decision, known(decision, good=good), policy), reply(decision, None, policy)
        assert (now.change, now.offer, now.say, verdict(now)) == (None, None, before.say, verdict(before))


def test_what_is_silenced_is_not_made_as_known_good() -> None:
    """The user's word in the script is the later one."""
    script = SCRIPT.replace(b"srun", b"# maple: ignore MPL203\nsrun")
    decision = ASK._replace(offered=NEW._replace(script=script.replace(b"node=8", b"node=4"), because=((4, "MPL203"),)))
    assert reply(decision, known(decision, good=True, script=script), script=script).change is None


@given(st.binary(max_size=300))
def test_what_the_helper_is_told_is_held_to_its_form(data: bytes) -> None:
    """Whatever comes, nothing is raised, and only well-formed lines count."""
    found = earlier.unpack(data)
    assert not found.good
    assert all(len(change) == 32 for change in found.taken_back)


def test_what_is_told_comes_back() -> None:
    """Up to a bound."""
    random.seed(7)
    many = {"%032x" % random.getrandbits(128): "%d_%d" % (4711 + n, n) for n in range(earlier.MOST)}
    assert earlier.unpack(earlier.pack(Earlier(taken_back=many))) == Earlier(taken_back=many)
    assert earlier.pack(Earlier()) == b"" and earlier.unpack(b"") == Earlier()
