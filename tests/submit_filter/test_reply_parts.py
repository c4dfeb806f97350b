"""The parts of a reply: what is shown of a change, what is written down, and the word that carries a script."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.answer import advice, reply
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.edits import Fix, Safety, Span
from maple_submit_filter.types.findings import Finding

from tests.submit_filter.test_heart import submitted
from tests.submit_filter.test_reply_table import ARGV, ASKED, SAFE, SCRIPT

LINES = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=7)


@given(LINES, LINES)
def test_the_lines_that_differ_are_shown_and_no_others(old: list[bytes], new: list[bytes]) -> None:
    """Pair by pair; where lines came or went, all between what both begin and end with."""
    shown = [line.removeprefix("maple:   ") for line in reply.changed_lines(old, new)]
    if len(old) == len(new):
        pairs = [pair for pair in zip(old, new) if pair[0] != pair[1]]
        assert shown == [mark + word.decode() for pair in pairs for mark, word in zip(("- ", "+ "), pair)]
        return
    gone = [line[2:].encode() for line in shown if line.startswith("- ")]
    come = [line[2:].encode() for line in shown if line.startswith("+ ")]
    assert shown == ["- " + word.decode() for word in gone] + ["+ " + word.decode() for word in come]
    at = [at for at in range(len(old) + 1) if old[at : at + len(gone)] == gone
          and [*old[:at], *come, *old[at + len(gone) :]] == new]  # fmt: skip
    assert at and (not gone or not come or (gone[0] != come[0] and gone[-1] != come[-1]))


@pytest.mark.parametrize("many", [1, 28, 29, 30, 200])
def test_a_question_says_why_and_shows_the_change_in_sixty_lines(many: int) -> None:
    """The command line first, where it is another; a script that stays is not shown."""
    asked = submitted(b"a\n" * many)
    argv = (b"sbatch", b"-N2", b"job.sh")
    made = Rewritten(b"b\n" * many, argv, ("MPL301 x",), ())
    lines = reply.question(asked, made).decode().split("\n")
    whole = ["maple: MPL301 x", "maple:   - sbatch job.sh", "maple:   + sbatch -N2 job.sh"]
    whole += ["maple:   - a", "maple:   + b"] * many
    assert lines == [*whole[:60], ""]
    assert reply.question(asked, made._replace(script=None)).decode().split("\n") == [*whole[:3], ""]
    assert reply.question(asked, made._replace(argv=asked.argv)).decode().split("\n") == [
        *([whole[0], *whole[3:]][:60]),
        "",
    ]


@pytest.mark.parametrize(
    ("argv", "made"),
    [
        ((b"sbatch", b"--wrap=old"), (b"sbatch", b"--wrap=new")), ((b"sbatch", b"-N2", b"--wrap=old"), None),
        ((b"sbatch", b"-N3", b"--wrap=old", b"x"), (b"sbatch", b"-N3", b"--wrap=new", b"x")),
        ((b"sbatch", b"--wrap=old", b"--wrap=old"), ()), ((b"sbatch",), ()),
    ],
)  # fmt: skip
def test_a_command_that_is_wrapped_takes_the_place_of_the_old_one(argv: tuple[bytes, ...], made: Any) -> None:
    """Wherever a repair has left it; where it is not the one word there is none to be sure of."""
    asked = ASKED._replace(came="wrap", argv=(b"sbatch", b"--wrap=old"))
    request = Request(bytes(16), bytes(32), asked, 1, len(b"--wrap="))
    if made == ():
        with pytest.raises(ValueError, match="which word"):
            reply._rewrap(request, list(argv), b"new")
    else:
        assert reply._rewrap(request, list(argv), b"new") == list(made or (b"sbatch", b"-N2", b"--wrap=new"))


def test_an_audit_line_names_who_what_and_thirty_two_rules_at_most() -> None:
    codes = tuple("MPL%03d" % at for at in range(40))
    request = Request(b"n" * 16, b"h" * 32, ASKED._replace(uid=7, came="stdin"))
    line = json.loads(reply._audit(request, GENERIC_SLURM, "findings", "warn", codes, "change"))
    assert line["codes"] == list(codes[:32]) and (line["verdict"], line["mode"]) == ("findings", "warn")
    assert (line["uid"], line["came"], line["change"], line["site"]) == (7, "stdin", "change", GENERIC_SLURM.id)
    assert line["record"] == reply.record_id(request) == (b"n" * 8).hex() and line["job"] == (b"h" * 32).hex()


def test_each_rule_that_had_a_part_is_named_once_in_the_order_of_its_lines() -> None:
    made = Rewritten(None, ARGV, (), ((3, "B"), (1, "A"), (4, "B")))
    assert reply._codes(made) == ("B", "A") and reply._codes(None) == ()
    assert reply._codes_of([Finding("B", "x"), Finding("A", "x"), Finding("B", "y")]) == ("B", "A")


def test_a_change_has_a_hash_of_old_and_new_together() -> None:
    """Each part counts, and where one ends."""
    request = Request(bytes(16), b"h" * 32, ASKED)
    others = [
        SAFE, SAFE._replace(script=SCRIPT), SAFE._replace(script=None), SAFE._replace(argv=(b"sbatch",)),
        SAFE._replace(argv=(b"sbatchjob.sh",)), SAFE._replace(argv=(b"sbatch", b"job", b".sh")),
    ]  # fmt: skip
    hashes = {reply._change_hash(request, made) for made in others}
    assert len(hashes) == len(others) and all(len(each) == 16 for each in hashes)
    assert reply._change_hash(request, None) == ""
    assert reply._change_hash(request._replace(hash=b"i" * 32), SAFE) != reply._change_hash(request, SAFE)
    assert (
        reply._change_id(ASKED, Decision("clean")) == "" != reply._change_id(ASKED, Decision("repaired", repaired=SAFE))
    )


def test_who_submits_by_qsub_is_told_so_with_the_prefix_of_his_directives() -> None:
    qsub = ASKED._replace(scheduler="pbs", argv=(b"qsub", b"-C", b"#X", b"job.sh"))
    assert reply._spoken_to(ASKED) == ("sbatch", b"") and reply._spoken_to(qsub) == ("qsub", b"#X")


HET = b"#!/bin/bash\n#SBATCH -N%b -n%b\n#SBATCH hetjob\n#SBATCH -N1\nsrun a\n"


@pytest.mark.parametrize(
    ("nodes", "tasks", "told"),
    [(b"2", b"4", {b"SLURM_NNODES_HET_GROUP_0": b"2", b"SLURM_NTASKS_HET_GROUP_0": b"4"}),
     (b"2-3", b"4", {b"SLURM_NNODES_HET_GROUP_0": None, b"SLURM_NTASKS_HET_GROUP_0": b"4"}),
     (b"2-2", b"4", {b"SLURM_NNODES_HET_GROUP_0": b"2"})],
)  # fmt: skip
def test_the_batch_script_has_the_numbers_of_each_component(nodes: bytes, tasks: bytes, told: dict[bytes, Any]) -> None:
    """Where they are sure; the list of nodes of the first one, in which it runs."""
    found = advice._of_groups(HET % (nodes, tasks))
    assert {name: found.get(name) for name in told} == told
    assert found[b"SLURM_NNODES_HET_GROUP_1"] == b"1" == found[b"SLURM_JOB_NUM_NODES_HET_GROUP_1"]
    assert b"SLURM_NTASKS_HET_GROUP_1" not in found
    assert b"SLURM_NODELIST_HET_GROUP_0" in found and b"SLURM_NODELIST_HET_GROUP_1" not in found


def presumed(other: tuple[Finding, ...], steps: Any = (), unread: Any = (), own: tuple[Finding, ...] = ()) -> Any:
    """Return what is said where what is unread changes nothing, beside what is said already."""
    named = {"presumable": True, "depends": (b"/a",), "unread": unread, "steps": steps}

    class State(SimpleNamespace):
        def _replace(self, **more: Any) -> State:
            return State(**{**vars(self), **more})

    played = State(findings=other, plan=State(depends=(b"/b", b"/a"), unread=unread, steps=()))
    return advice.presumed(State(findings=own, plan=State(**named)), lambda: played)  # type: ignore[arg-type]


STEP = SimpleNamespace(span=Span(10, 20), maybe=True, line=3)
SAFELY = Fix((), Safety.SAFE, "x")


@pytest.mark.parametrize(
    ("code", "at", "step", "unread", "why"),
    [
        ("MPL301", Span(10, 12), STEP, (), "line 3 may not run"),
        ("MPL301", Span(20, 21), STEP, (), "line 3 may not run"),
        ("MPL301", Span(21, 22), STEP, ((7, "no"),), "line 7, no"),
        ("MPL301", Span(9, 12), STEP, ((7, "no"),), "line 7, no"),
        ("MPL301", None, STEP, (), "line 3 may not run"), ("MPL301", None, STEP, ((0, "no"),), "no"),
        ("MPL301", None, None, (), "what is loaded and sourced here is not known"),
        ("MPL601", Span(10, 12), STEP, (), None), ("MPL601", Span(30, 31), STEP, (), "line 3 may not run"),
        ("MPL601", Span(10, 12), None, ((7, "no"),), "line 7, no"),
    ],
)  # fmt: skip
def test_what_is_likely_says_why_it_is_not_certain(
    code: str, at: Any, step: Any, unread: Any, why: Optional[str]
) -> None:
    """It proves nothing and is offered at most; a condition of a line may ask for the very file; one word is enough."""
    likely = Finding(code, "wrong", at, True, fixes=(SAFELY,), help="do it")
    steps = (step,) if step is not None else ()
    made = presumed((likely,), steps, unread)
    assert [finding.code for finding in made.findings] == ([code] if why else [])
    for finding in made.findings:
        assert why is not None and finding.help == "do it. Likely, not certain: " + why and not finding.proven
        assert [fix.safety for fix in finding.fixes] == [Safety.ASK]
    assert made.plan.depends == (b"/a", b"/b")
    spoken = Finding(code, "spoken")
    assert presumed((likely,), steps, unread, (spoken,)).findings == (spoken,)
