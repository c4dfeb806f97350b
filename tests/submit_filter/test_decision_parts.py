"""The parts of a decision: what is left alone, what is silenced, what is likely, and what may be handed back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.answer import advice
from maple_submit_filter.answer import decision as deciding
from maple_submit_filter.answer.decision import MOST_READ, Decision, Rewritten
from maple_submit_filter.play.scene import MOST_COMMANDS
from maple_submit_filter.repair import certainty
from maple_submit_filter.repair.search import Repair
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.edits import Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.submission import Submission

from tests.submit_filter.test_heart import TWO_WORLDS, submitted, understood

UNSURE = GENERIC_SLURM._replace(unsure=("network",))


@pytest.mark.parametrize(
    ("source", "words", "read"),
    [
        (b"#!/bin/bash\n", (), True), (b"#!/bin/bash\n", (b"--no-such-option",), False),
        (b"#!/bin/bash\n", (b"-N1", b":"), False),
        (b"#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n", (), False),
    ],
)  # fmt: skip
def test_what_sbatch_refuses_and_what_has_several_components_is_left_alone(
    source: bytes, words: tuple[bytes, ...], read: bool
) -> None:
    """So is what is no script."""
    asked = submitted(source, *words)
    assert (deciding.understood(asked, None) is not None) == read
    assert deciding.understood(asked._replace(script=None), None) is None


def test_arguments_are_known_where_the_whole_command_line_is_or_has_some() -> None:
    """Else what stands behind the script may be in another place."""
    asked = submitted(b"#!/bin/bash\n")
    for whole, words, arguments in (
        (True, (), ()), (True, (b"a",), (b"a",)), (False, (), None), (False, (b"a",), (b"a",)),
    ):  # fmt: skip
        job = deciding.understood(asked._replace(whole=whole, argv=(b"sbatch", b"job.sh", *words)), None)
        assert job is not None and job.arguments == arguments


def test_what_advice_reads_is_kept_where_there_is_a_way_to_read_it() -> None:
    asked, qsub = (
        submitted(b"#!/bin/bash\n"),
        Submission("pbs", (b"qsub", b"j"), b"#!/bin/bash\n", "file", b"j", b"/", 1, {}),
    )
    for of in (asked, qsub):
        assert deciding.understood(of, None, dict.get).peruse is dict.get  # type: ignore[union-attr, comparison-overlap, arg-type]
        assert deciding.understood(of, None).peruse is None  # type: ignore[union-attr]


@pytest.mark.parametrize(("size", "read"), [(MOST_READ - 1, True), (MOST_READ, True), (MOST_READ + 1, False)])
def test_a_script_has_its_greatest_size_to_the_byte(size: int, read: bool) -> None:
    source = b"#!/bin/bash\n#"
    decision = deciding.decide(submitted(source + b"x" * (size - len(source))), GENERIC_SLURM, None)
    assert (decision != deciding.TOO_LONG) == read and decision.verdict == ("clean" if read else "unread")


def test_a_command_of_another_scheduler_is_unread_on_a_site_that_is_described() -> None:
    decision = deciding.decide(submitted(b"#!/bin/bash\n"), GENERIC_PBS._replace(id="here"), None)
    assert (decision.verdict, decision.why) == ("unread", "there is no script of this scheduler to read")


LINES = b"#!/bin/bash\n# maple: ignore MPL301\necho\n# maple: ignore MPL302\nsrun a\nsrun b\n"


def found(code: str, line: int = 0, proven: bool = True, fixes: tuple[Fix, ...] = ()) -> Finding:
    at = sum(map(len, LINES.splitlines(True)[: line - 1]))
    return Finding(code, "wrong", Span(at, at + 1) if line else None, proven, fixes=fixes)


@pytest.mark.parametrize(
    ("finding", "unreadable", "told"),
    [
        (found("MPL301"), False, False), (found("MPL301", 6), False, False), (found("MPL302"), False, True),
        (found("MPL302", 5), False, False), (found("MPL302", 6), False, True), (found("MPL303", 5), False, True),
        (found("MPL303", 5), True, False), (found("MPL104", 5), True, True), (found("MPL105"), True, True),
        (found("MPL106"), True, False),
    ],
)  # fmt: skip
def test_what_the_user_has_silenced_is_not_found_and_of_a_refused_text_its_refusal_alone(
    monkeypatch: pytest.MonkeyPatch, finding: Finding, unreadable: bool, told: bool
) -> None:
    """For the file, or for its line; each is told once."""
    other = found("MPL105", 6)
    monkeypatch.setattr(deciding, "diagnose", lambda *_: [finding, other, finding])
    job = understood(LINES)
    job = job._replace(script=job.script._replace(unreadable=unreadable))
    assert line_of(LINES, other.at.start) == 6  # type: ignore[union-attr]
    assert deciding._played(job, GENERIC_SLURM).findings == ((finding, other) if told else (other,))
    made: Any = SimpleNamespace()
    assert deciding._played(job, GENERIC_SLURM, made).plan is made


def state(*findings: Finding, **plan: Any) -> Any:
    named = {"presumable": False, "commands": 0, "unread": (), "steps": ()}
    proven = tuple(finding for finding in findings if finding.proven)
    job = understood(TWO_WORLDS)
    return SimpleNamespace(job=job, findings=findings, proven=lambda: proven, plan=SimpleNamespace(**{**named, **plan}))


@pytest.mark.parametrize(
    ("plan", "presumed"),
    [({}, False), ({"presumable": True}, True), ({"presumable": True, "commands": MOST_COMMANDS}, True),
     ({"presumable": True, "commands": MOST_COMMANDS + 1}, False), ({"commands": MOST_COMMANDS}, False)],
)  # fmt: skip
def test_what_is_likely_is_told_where_something_unread_may_matter_and_the_script_is_no_longer_than_is_played(
    monkeypatch: pytest.MonkeyPatch, plan: Any, presumed: bool
) -> None:
    other = object()
    monkeypatch.setattr(advice, "presumed", lambda state, play: other)
    start = state(**plan)
    assert deciding._presumed(start, start.job, GENERIC_SLURM) is (other if presumed else start)


@pytest.mark.parametrize(
    ("is_shell", "steps", "unread", "why"),
    [
        (True, [], (), ""), (False, [], (), "not a shell script"), (True, [], ((3, "no"), (4, "x")), "line 3: no"),
        (True, [("a", ())], ((3, "no"),), ""), (True, [("", ("breach",))], ((3, "no"),), ""),
        (True, [("", ())], ((3, "no"),), "line 3: no"), (True, [("", ()), ("a", ())], ((3, "no"),), ""),
    ],
)  # fmt: skip
def test_why_nothing_can_be_said_is_what_was_not_read_first(is_shell: bool, steps: Any, unread: Any, why: str) -> None:
    """Where nothing was seen to start."""
    of = state(steps=[SimpleNamespace(program=program, breaches=found) for program, found in steps], unread=unread)
    of.job = of.job._replace(script=of.job.script._replace(is_shell=is_shell))
    assert deciding._unread(of) == why


@pytest.mark.parametrize(
    ("fixes", "harmless"),
    [((), False), ((False,), False), ((True,), True), ((True, False), True), ((False, True), False)],
)
def test_a_change_is_harmless_where_the_best_one_is(fixes: tuple[bool, ...], harmless: bool) -> None:
    rows = tuple(Fix((), Safety.SAFE, "x", harmless=each) for each in fixes)
    for findings in ((found("A", fixes=rows),), (found("B"), found("A", fixes=rows))):
        assert deciding._harmless(state(*findings)) == harmless


@pytest.mark.parametrize(
    ("site", "proven", "twice"),
    [(GENERIC_SLURM, True, False), (UNSURE, False, False), (UNSURE, True, True)],
)
@pytest.mark.parametrize("alike", [False, True])
def test_what_is_proven_is_played_again_by_what_is_certain_of_the_site(
    monkeypatch: pytest.MonkeyPatch, site: Any, proven: bool, twice: bool, alike: bool
) -> None:
    """Where the site is not sure of all, and with the same plan where that is played alike."""
    plays: list[tuple[object, object]] = []
    first, held = found("A", proven=proven), found("B")

    def play(job: Any, here: Any, made: Any = None, tape: Any = None) -> Any:
        plays.append((here, made))
        of = state(first if here is site else held)
        of._replace = lambda **more: SimpleNamespace(**{**vars(of), **more})
        return of

    monkeypatch.setattr(deciding, "_played", play)
    monkeypatch.setattr(certainty, "plays_alike", lambda *_: alike)
    monkeypatch.setattr(certainty, "weighed", lambda findings, surely, site: (*findings, *surely))
    told, start = deciding._weighed(understood(TWO_WORLDS), site, None)
    assert [here for here, _ in plays] == ([site, certainty.certain(site)] if twice else [site])
    assert [made is not None for _, made in plays] == ([False, alike] if twice else [False])
    assert told.findings == ((first, held) if twice else (first,)) and (start is told) == (not twice)


MADE = state(found("MPL301"))
FIX = ("MPL301", Fix((), Safety.SAFE, "do it"))


@pytest.mark.parametrize(
    ("whole", "source", "likely", "held"),
    [
        (True, b"other\n", {"MPL301"}, ""), (False, b"other\n", {"MPL301"}, ""), (True, TWO_WORLDS, {"MPL301"}, ""),
        (True, b"other\n", {"MPL301", "MPL302"}, ""),
        (True, b"other\n", set(), "an unconfirmed fact of the site file speaks against it"),
        (True, b"bad\n", {"MPL301"}, "bash -n refuses the repaired script"),
        (True, TWO_WORLDS, set(), "an unconfirmed"),
    ],
)  # fmt: skip
def test_a_repair_is_handed_back_where_it_is_whole_and_nothing_likely_and_no_bash_speaks_against_it(
    monkeypatch: pytest.MonkeyPatch, whole: bool, source: bytes, likely: set[str], held: str
) -> None:
    """What an unsure fact says counts on a site that has one; the script is left out where it is the user's own."""
    monkeypatch.setattr(deciding, "_likely", lambda state, site: MADE)
    monkeypatch.setattr(deciding, "_parses", lambda text: text != b"bad\n")
    job = understood(source)
    repair = Repair(SimpleNamespace(job=job), whole, (FIX, ("B", FIX[1])), ((1, "A"),), ())  # type: ignore[arg-type]
    notes: list[tuple[str, str]] = []
    made = deciding._rewritten(MADE, repair, notes, UNSURE, likely)
    expected: Optional[Rewritten] = Rewritten(
        None if source == TWO_WORLDS else source, job.submission.argv, ("MPL301 do it", "B do it"), ((1, "A"),)
    )
    assert made == (expected if whole and not held else None)
    assert [(code, why.startswith(held)) for code, why in notes] == ([("MPL301", True)] if held else [])
    sure: list[tuple[str, str]] = []
    assert (deciding._rewritten(MADE, repair, sure, GENERIC_SLURM, likely) is not None) == (
        whole and source != b"bad\n"
    )


def test_what_is_explained_is_each_finding_with_the_facts_that_it_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certainty, "named", lambda finding, site, proven: finding._replace(help="because"))
    decision = Decision("findings", (found("A"), found("B")))
    made = deciding.explained(decision, submitted(TWO_WORLDS), UNSURE, None)
    assert made == decision._replace(findings=tuple(one._replace(help="because") for one in decision.findings))
    assert deciding.explained(decision, submitted(TWO_WORLDS), GENERIC_SLURM, None) == decision
    assert deciding.explained(decision, submitted(TWO_WORLDS, b"--no-such-option"), UNSURE, None) == decision


UNREAD_HERE = "what is loaded and sourced here is not known"


@pytest.mark.parametrize(
    ("steps", "at", "unread", "why"),
    [
        ((), None, (), UNREAD_HERE), ((), None, ((3, "sourced"),), "line 3, sourced"),
        ((), None, ((0, "too long"), (4, "x")), "too long"), ((7,), None, (), "line 7 may not run"),
        ((-5, 7, 9), None, (), "line 7 may not run"), ((-5,), None, (), UNREAD_HERE),
        ((7,), None, ((3, "sourced"),), "line 3, sourced"), ((7,), 70, ((3, "sourced"),), "line 7 may not run"),
        ((7, 9), 90, (), "line 9 may not run"), ((7, -9), 90, ((3, "x"),), "line 3, x"),
        ((7,), 71, ((3, "x"),), "line 7 may not run"), ((7,), 75, ((3, "x"),), "line 7 may not run"),
        ((7,), 76, ((3, "x"),), "line 3, x"), ((7,), 69, ((3, "x"),), "line 3, x"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_that_the_line_runs_or_else_what_nobody_has_read_first(
    steps: Any, at: Any, unread: Any, why: str
) -> None:
    """A step stands at ten times its line, five bytes long; one below 0 is sure to run."""
    made = [
        SimpleNamespace(line=abs(line), maybe=line > 0, span=Span(10 * abs(line), 10 * abs(line) + 5)) for line in steps
    ]
    finding = found("A")._replace(at=None if at is None else Span(at, at + 1))
    plan: Any = SimpleNamespace(unread=unread)
    assert advice._why(finding, SimpleNamespace(plan=SimpleNamespace(steps=made)), plan) == why  # type: ignore[arg-type]
