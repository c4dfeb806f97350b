"""Earlier jobs of the user's: known again by the line that proved the cause, believed where they ended so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from maple_agents.diagnose.diagnosis import UNKNOWN
from maple_agents.diagnose.earlier_cases import (
    MOST,
    Earlier,
    confirmed,
    digest,
    not_again,
    recalled,
    remembered,
    signature,
)
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Ended, Evidence
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

LINE = "RuntimeError: /scratch/u/run%d/shard-0007.bin: checksum of block %d is wrong"
BEFORE, FIXED = b"#!/bin/bash\nsrun a\n", b"#!/bin/bash\nsrun --mem=0 a\n"
FOOTER = b"# maple: repaired (MPL301); record 0011223344556677; original sha256 ab; MAPLE=off sbatch submits it\n"


def made(job: str = "2", cause: str = "code_error", score: float = 4.0, number: int = 1, script: bytes = BEFORE,
         cures: tuple[Cure, ...] = ()) -> Diagnosis:  # fmt: skip
    """A diagnosis of a job whose log says the line; "unknown" for a cause that no rule knows."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/", 1000, {})
    case = Case(Ended(job, "failed", 1), "slurm", GENERIC_SLURM, asked, "job.sh")
    line = (Evidence("log", 3, LINE % (number, number * 7)),)
    if cause == "unknown":
        return Diagnosis(case, (UNKNOWN,), excerpt=(Evidence("log", 2, "Traceback"), *line), cures=cures)
    return Diagnosis(case, (Cause("e1", cause, "says", score, 0.5, line),), cures=cures)


def earlier(cause: str = "host_oom", **more: object) -> Earlier:
    """A case of the same line, whose fix helped."""
    told: dict[str, object] = {
        "entry": "e2", "job": "1", "at": 1.0, "kind": "script_directive", "says": "ask for 64G", "helped": True,
        "later": "9", **more,
    }  # fmt: skip
    return Earlier(signature(made()), cause, **told)  # type: ignore[arg-type]


def test_numbers_and_folders_are_no_part_of_what_a_case_is_known_by() -> None:
    """The words are; and a line of three letters is known by nothing."""
    assert signature(made(number=1)) == signature(made(number=22)) == signature(made(cause="unknown"))
    other = replace(made().causes[0], evidence=(Evidence("log", 3, "RuntimeError: the shape of block 7 is wrong"),))
    assert signature(replace(made(), causes=(other,))) != signature(made())
    short = replace(other, evidence=(Evidence("log", 3, "Err 12"),))
    assert signature(replace(made(), causes=(short,))) == ""
    assert signature(replace(made(), causes=(replace(short, evidence=()),))) == ""
    assert signature(replace(made(), causes=(replace(other, cause="none"),))) == ""


@pytest.mark.parametrize("cause", ["unknown", "code_error"])
def test_a_fix_that_helped_tells_the_cause_where_rules_are_unsure(cause: str) -> None:
    """It comes first, says by whom, and shows the line; what the rules thought comes behind."""
    found = recalled(made(cause=cause), [earlier()])
    first = found.causes[0]
    assert (first.cause, first.entry, first.by) == ("host_oom", "e2", "case") and first.confidence >= 0.7
    assert first.evidence[0].text == LINE % (1, 7)
    assert found.case.notes == ("as in job 1, where “ask for 64G” helped: job 9 ran with it",)
    assert [one.cause for one in found.causes[1:]] == ([] if cause == "unknown" else ["code_error"])


def test_a_cause_that_is_proven_stays_the_first() -> None:
    """Whatever an earlier job says; the same class is noted, and still the rules' own."""
    assert recalled(made(score=6.0), [earlier()]) == made(score=6.0)
    same = recalled(made(score=6.0), [earlier("code_error")])
    assert same.causes == made(score=6.0).causes and len(same.case.notes) == 1
    unsure = recalled(made(score=4.0), [earlier("code_error")])
    assert unsure.causes[0].by == "case" and unsure.causes[0].confidence > 0.5


@pytest.mark.parametrize(
    "more", [{"helped": None}, {"helped": False}, {"signature": "other"}, {"job": "2", "by": "rule"}], ids=str
)
def test_what_nobody_knows_to_be_right_tells_nothing(more: dict[str, object]) -> None:
    """An earlier diagnosis alone is no proof; nor is this very job's."""
    assert recalled(made(cause="unknown"), [replace(earlier(), **more)]) == made(cause="unknown")  # type: ignore[arg-type]


def test_the_users_word_counts_at_once() -> None:
    """Of the same job too."""
    mark = signature(made(cause="unknown"))
    known = confirmed("2", mark, "shm_too_small", "", [], 5.0)
    for job, note in (
        ("2", "you said that this job was shm_too_small"), ("3", "as in job 2, which was shm_too_small, you said"),
    ):  # fmt: skip
        found = recalled(made(job, "unknown"), known)
        assert (found.causes[0].cause, found.causes[0].by) == ("shm_too_small", "case")
        assert found.case.notes == (note,)


def test_the_users_word_stands_in_place_of_what_was_said() -> None:
    """What the same job's fix came to is kept where he only agrees."""
    before = [earlier(job="2", helped=None, fixed="f")]
    (other,) = confirmed("2", before[0].signature, "gpu_oom", "", before, 5.0)
    assert (other.cause, other.fixed, other.by) == ("gpu_oom", "", "user")
    (agreed,) = confirmed("2", before[0].signature, "host_oom", "", before, 5.0)
    assert (agreed.fixed, agreed.by) == ("f", "user")
    assert remembered(made(), agreed.signature, [agreed], 9.0) == [agreed]


CURE = Cure("script_directive", "ask for 64G", "ask", FIXED)


def test_a_fix_that_did_not_help_is_not_offered_again() -> None:
    """Its job had it in its script, and the same line came: that is said in place of the change."""
    first = remembered(made("1", cures=(CURE,)), signature(made()), [], 1.0)
    assert (first[0].fixed, first[0].helped) == (digest(FIXED), None)
    again = made("2", script=FIXED + FOOTER, cures=(replace(CURE, says="ask for 128G", script=b"x"),))
    second = remembered(again, signature(again), first, 2.0)
    assert (second[1].helped, second[1].later) == (False, "2")
    third = not_again(made("3", cures=(CURE,)), signature(made()), second)
    (held,) = third.cures
    assert (held.script, held.fix, held.safety) == (None, None, "tell")
    assert held.held_back == "job 2 had this change after job 1, and ended in the same way"
    assert remembered(third, signature(third), second, 3.0)[0].fixed == ""


def test_a_fix_that_helped_later_is_offered_again() -> None:
    """And one of another line was never held back."""
    failed = earlier(helped=False)
    plain = made("3", cures=(CURE,))
    assert not_again(plain, failed.signature, [failed]).cures != plain.cures
    assert not_again(plain, failed.signature, [earlier(job="0"), failed]).cures == plain.cures
    assert not_again(plain, "other", [failed]).cures == plain.cures


def test_a_job_that_fails_otherwise_proves_nothing_about_the_fix() -> None:
    """The line that it was made for has not come again."""
    first = remembered(made("1", cures=(CURE,)), signature(made()), [], 1.0)
    assert remembered(made("2", script=FIXED), "another", first, 2.0)[1].helped is None
    assert remembered(made("2", script=BEFORE), signature(made()), first, 2.0)[1].helped is None


def test_a_job_is_remembered_once_and_not_too_many_are() -> None:
    """Nothing of a job that ran, that nobody understood, or that has no id."""
    known: list[Earlier] = []
    for number in range(MOST + 20):
        known = remembered(made(str(number)), signature(made()), known, float(number))
    assert len(known) == MOST and known[0].job == str(MOST + 19)
    assert len(remembered(made(str(MOST + 19)), signature(made()), known, 9e9)) == MOST
    for other in (made("7777", "unknown"), made("7777", "none"), made("")):
        assert remembered(other, signature(made()), known, 9e9) == known
