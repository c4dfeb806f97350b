"""What is proposed beside what submitting does: which change counts, how many, and what is said of each.

Over jobs that are made up: a state is its script, the codes that are found in it, and those of them that are proven.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from maple_submit_filter.answer import fate
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.cures import decisions as deciding
from maple_submit_filter.plan import declared_worlds
from maple_submit_filter.repair import cost, offers, search
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.edits import ArgvEdit, Edit, Fix, Safety, Span, apply
from maple_submit_filter.types.findings import Finding

from tests.submit_filter.test_heart import TWO_WORLDS, submitted

ARGV = (b"sbatch", b"job.sh")
YES_NO = (False, True)


def state(source: bytes, found: str = "", argv: tuple[bytes, ...] = ARGV) -> Any:
    """Return a state in which these codes are found: capitals are proven, a code may be found twice."""
    findings = tuple(Finding(code.upper(), "wrong", Span(0, 1), code.isupper()) for code in found)
    proven = tuple(finding for finding in findings if finding.proven)
    job = SimpleNamespace(source=source, submission=SimpleNamespace(argv=argv))
    return SimpleNamespace(job=job, findings=findings, proven=lambda: proven, plan=None, played=lambda: source)


def fix(says: str, *edits: Edit, safety: str = Safety.SAFE, words: tuple[ArgvEdit, ...] = ()) -> Fix:
    return Fix(edits, safety, says, words)


@pytest.mark.parametrize(
    ("safety", "proven", "says"),
    [
        (Safety.ASK, True, "suggested, not applied without your word: do it"),
        (Safety.ASK, False, "suggested, not applied without your word: do it"),
        (Safety.TELL, True, "do it"), (Safety.TELL, False, "do it"), (Safety.SAFE, False, "do it"),
        (Safety.SAFE, True, "not applied: the repair as a whole was not proven. Possible fix: do it"),
        ("", True, ""),
    ],
)  # fmt: skip
def test_what_becomes_of_a_fix_that_is_not_made_follows_from_how_sure_it_is(
    safety: str, proven: bool, says: str
) -> None:
    """The first one speaks; of none there is nothing to say."""
    fixes = (fix("do it", safety=safety), fix("or that")) if safety else ()
    finding = Finding("A", "wrong", None, proven, fixes=fixes)
    for mode in ("repair", "warn"):
        assert fate.fates(Decision("findings", (finding,)), mode)(finding) == says


@pytest.mark.parametrize(("left", "less", "whole", "rest_less"), list(itertools.product(YES_NO, repeat=4)))
def test_a_way_on_offer_has_what_else_must_change_where_that_leads_to_a_right_script(
    monkeypatch: pytest.MonkeyPatch, left: bool, less: bool, whole: bool, rest_less: bool
) -> None:
    """And where neither it nor the rest asks for less than the user does; else it stands alone."""
    start, after, end = state(b"a\nb\n", "A"), state(b"A\nb\n", "B" if left else "b"), state(b"A\nB\n")
    asks = {after.job.source: less, end.job.source: rest_less}
    monkeypatch.setattr(cost, "asks_for_less", lambda before, now: before is start.job and asks[now.source])
    rest = search.Repair(end, whole, (("B", fix("more")),), ((2, "B"),), ())
    monkeypatch.setattr(offers, "completed", lambda state, again: rest if state is after else None)
    first = fix("first", Edit(Span(0, 1), b"A", "A"))
    made = fate._with_the_rest(Finding("A", "wrong"), first, after, start, GENERIC_SLURM)
    alone = Rewritten(b"A\nb\n", ARGV, ("A first",), ((1, "A"),))
    both = Rewritten(b"A\nB\n", ARGV, ("A first", "B more"), ((1, "A"), (2, "B")))
    assert made == (both if left and whole and not less and not rest_less else alone)


@pytest.mark.parametrize(
    ("more", "differs"),
    [
        ({}, False), ({"says": ("other",)}, False), ({"because": ((2, "A"),)}, False), ({"script": b"b"}, False),
        ({"argv": (b"sbatch",)}, False), ({"script": b"b", "says": ("other",)}, True),
        ({"script": b"b", "because": ((2, "A"),)}, True), ({"argv": (b"sbatch",), "says": ("other",)}, True),
        ({"script": b"b", "argv": (b"sbatch",), "says": ("other",), "because": ()}, True),
    ],
)  # fmt: skip
def test_two_offers_differ_where_what_they_make_and_what_they_say_are_others(
    more: dict[str, Any], differs: bool
) -> None:
    """Of ways to spell one change of one line the first is enough, and so it is of two sentences for one script."""
    one = Rewritten(b"a", ARGV, ("A first",), ((1, "A"),))
    assert fate._differs(one._replace(**more), one) == fate._differs(one, one._replace(**more)) == differs


def test_each_change_is_told_by_its_line_and_those_of_the_command_line_by_none() -> None:
    """Each once, in the order of the fix; a script that stays is not handed over anew."""
    start = state(b"a\nb\nc\n")
    made = fix("x", Edit(Span(4, 5), b"C", "C"), Edit(Span(0, 1), b"A", "A"), words=(ArgvEdit(1, (b"x",), "W"),))
    assert fate._because(start, made) == [(3, "C"), (1, "A"), (0, "W")]
    twice = [(1, "A"), (2, "B"), (1, "A")]
    same = fate._rewritten(start, state(b"a\nb\nc\n", argv=(b"sbatch",)), ("says",), twice)
    assert same == Rewritten(None, (b"sbatch",), ("says",), ((1, "A"), (2, "B")))
    assert fate._rewritten(start, state(b"A\nb\nc\n"), (), []).script == b"A\nb\nc\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"", b""), (b"a", b"b"), (b"a\nb\nc", b"a\nB!\nc"), (b"a\nb\nc\n", b"\nb\nCC\n"), (b"a\n\nb\n", b"a\nx\nb\n"),
     (b"a\nb\n", b"a\nb\n")],
)  # fmt: skip
def test_the_lines_that_changed_make_the_one_script_of_the_other(before: bytes, after: bytes) -> None:
    """Each is a whole line, and the others stay; it bears the code for which it is changed."""
    edits = fate._changed_lines(state(before), state(after), "A", {})
    second = fate._changed_lines(state(before), state(after), "A", {2: "B"})
    codes = ["B" if before.count(b"\n", 0, edit.span.start) == 1 else "A" for edit in edits]
    assert [edit.because for edit in second] == codes
    assert apply(before, edits) == after
    assert len(edits) == sum(old != new for old, new in zip(before.split(b"\n"), after.split(b"\n")))
    assert all(edit.because == "A" and b"\n" not in before[edit.span.start : edit.span.end] for edit in edits)
    assert all(edit.span.start in (0, 1 + before.rfind(b"\n", 0, edit.span.start)) for edit in edits)


class World:
    """Ways to cure the findings of a state: to the state that each leads to, None where it cannot be tried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, leads: dict[str, Any], less: tuple[bytes, ...] = ()) -> None:
        self.searched: list[str] = []
        monkeypatch.setattr(fate, "ways", lambda fix, plan, job: [fix._replace(says=one) for one in fix.says.split()])
        monkeypatch.setattr(fate, "tried", lambda state, fix, again, loops=False: leads[fix.says] if loops else None)
        monkeypatch.setattr(cost, "asks_for_less", lambda before, after: after.source in less)
        monkeypatch.setattr(fate, "_searched", self._search)

    def _search(self, finding: Finding, state: Any, site: Any) -> Any:
        self.searched.append(finding.code)
        return iter(())

    def each(self, of: Any, start: Any) -> list[tuple[str, str]]:
        """Return the code and the way of each change that counts."""
        return [(finding.code, way.says) for finding, way, _ in fate._each(of, start, GENERIC_SLURM)]


def wrong(*ways: str, code: str = "A", proven: bool = True, **more: Any) -> Finding:
    return Finding(code, "wrong", Span(0, 1), proven, fixes=tuple(fix(says) for says in ways), **more)


GONE, LEFT, OTHER, FEWER, WORSE = state(b"g"), state(b"l", "A"), state(b"o", "B"), state(b"f", "aA"), state(b"w", "bC")
LEADS = {"gone": GONE, "left": LEFT, "none": None, "other": OTHER, "also": state(b"h"), "worse": WORSE}


@pytest.mark.parametrize(
    ("ways", "counts", "search"),
    [
        (("gone",), ["gone"], False), (("left",), [], True), (("none",), [], True), ((), [], True),
        (("none left gone",), ["gone"], False), (("gone also",), ["gone"], False),  # of one fix the first that does it
        (("gone", "also"), ["gone", "also"], False), (("left", "also"), ["also"], False),
        (("other",), [], False),  # it proves what was not proven
        (("other also",), ["also"], False), (("worse", "gone"), ["gone"], False),
    ],
)  # fmt: skip
def test_a_change_counts_where_its_finding_is_gone_and_nothing_more_is_proven(
    monkeypatch: pytest.MonkeyPatch, ways: tuple[str, ...], counts: list[str], search: bool
) -> None:
    """Another is searched for where no change of the rule's own cures what is proven."""
    world = World(monkeypatch, LEADS)
    monkeypatch.setattr(fate, "_with_what_follows", lambda *_: None)
    start = SimpleNamespace(**{**vars(state(b"s", "A")), "findings": (wrong(*ways),)})
    assert world.each(start, start) == [("A", way) for way in counts]
    assert world.searched == (["A"] if search else [])


def test_of_a_rule_that_speaks_twice_one_sentence_less_is_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other may stand for another line."""
    world = World(monkeypatch, {"once": LEFT, "twice": FEWER})
    for says, cured in (("once", True), ("twice", False)):
        start = SimpleNamespace(**{**vars(state(b"s", "AA")), "findings": (wrong(says), wrong())})
        assert (world.each(start, start) == [("A", says)]) == cured


@pytest.mark.parametrize("more", [{"proven": False}, {"asks_for": "account"}, {"elsewhere": ("line",)}], ids=str)
def test_nothing_is_searched_for_what_is_not_proven_or_not_the_script_s(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    world = World(monkeypatch, {})
    start = SimpleNamespace(**{**vars(state(b"s", "A")), "findings": (wrong(**more),)})
    assert (world.each(start, start), world.searched) == ([], [])


def test_less_is_asked_for_by_a_change_alone_and_by_none_behind_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """With others it would be taken by who reads the first line."""
    world = World(monkeypatch, LEADS, less=(GONE.job.source,))
    first = SimpleNamespace(**{**vars(state(b"s", "A")), "findings": (wrong("gone", "also"),)})
    later = SimpleNamespace(**vars(first))
    assert world.each(first, first) == [("A", "gone"), ("A", "also")]
    assert world.each(later, first) == [("A", "also")]


def test_a_change_that_brings_another_to_light_is_proposed_with_what_cures_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for each fix, as for any other change."""
    world = World(monkeypatch, LEADS)
    monkeypatch.setattr(fate, "_with_what_follows", lambda finding, way, *_: (way._replace(says="with more"), GONE))
    start = SimpleNamespace(**{**vars(state(b"s", "A")), "findings": (wrong("other worse", "gone"),)})
    assert world.each(start, start) == [("A", "with more"), ("A", "gone")]


@pytest.mark.parametrize(
    ("whole", "end", "cures"),
    [(True, state(b"A\nB\n"), True), (False, state(b"A\nB\n"), False), (True, state(b"A\nB\n", "a"), False),
     (True, state(b"A\nB\n", "C"), False), (True, state(b"A\nB\n", "c"), True), (True, state(b"A\nB\n", "D"), True)],
)  # fmt: skip
def test_what_follows_from_a_change_is_made_with_it_where_both_cure(
    monkeypatch: pytest.MonkeyPatch, whole: bool, end: Any, cures: bool
) -> None:
    """The finding is gone then, and no more is proven than was; each sentence is said once. So it is with advice."""
    taken = tuple((code, fix(says)) for code, says in (("B", "then that"), ("C", "first"), ("D", "then that")))
    rest = search.Repair(end, whole, taken, (), ())
    monkeypatch.setattr(offers, "completed", lambda state, again: rest)
    way = fix("first", Edit(Span(0, 1), b"A", "A"), safety=Safety.ASK, words=(ArgvEdit(1, (b"x",), "W"),))
    made = fate._with_what_follows(wrong(), way, state(b"A\nb\n", "B"), state(b"a\nb\n", "AD"), GENERIC_SLURM)
    assert (made is not None) == cures
    advice = fate._with_what_follows(wrong(), way, state(b"A\nb\n"), state(b"a\nb\n", "aD"), GENERIC_SLURM)
    assert (advice is not None) == cures
    if made is not None:
        assert made[1] is end and apply(b"a\nb\n", made[0].edits) == b"A\nB\n"
        assert made[0][1:4] == (Safety.ASK, "first; then that; first", way.argv_edits)


WHOLE = state(b"w")


@pytest.mark.parametrize(
    ("after", "shows", "less", "counts"),
    [
        (WHOLE, True, False, True), (None, True, False, False), (WHOLE, False, False, False),
        (WHOLE, True, True, False), (state(b"w", "B"), True, False, False), (state(b"w", "a"), True, False, False),
        (state(b"w", "b"), True, False, True), (state(b"w", "bc"), True, False, False),
    ],
)  # fmt: skip
def test_a_decision_that_nobody_has_taken_is_proposed_where_it_makes_the_plan_whole(
    monkeypatch: pytest.MonkeyPatch, after: Any, shows: bool, less: bool, counts: bool
) -> None:
    """It is shown to, less is found than before, and no less is asked for."""
    before = state(b"s", "Ab")
    monkeypatch.setattr(deciding, "decisions", lambda plan, job, code: [fix(code)])
    monkeypatch.setattr(fate, "tried", lambda state, fix, again, loops=False: after)
    monkeypatch.setattr(cost, "asks_for_less", lambda *_: less)
    monkeypatch.setattr(search, "shown", lambda now, was: shows and (now, was) == (after, before))
    monkeypatch.setattr(declared_worlds, "lost", lambda *_: ())
    found = list(fate._searched(wrong(), before, GENERIC_SLURM))
    assert [(finding.code, made.says, end) for finding, made, end in found] == ([("A", "A", after)] if counts else [])


def test_a_decision_that_does_not_help_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one that cannot be tried."""
    leads = {"none": None, "wrong": LEFT, "right": WHOLE}
    monkeypatch.setattr(deciding, "decisions", lambda *_: [fix(name) for name in leads])
    monkeypatch.setattr(fate, "tried", lambda _, fix, again, loops=False: leads[fix.says])
    monkeypatch.setattr(cost, "asks_for_less", lambda *_: False)
    monkeypatch.setattr(search, "shown", lambda *_: True)
    monkeypatch.setattr(declared_worlds, "lost", lambda *_: ())
    found = list(fate._searched(wrong(), state(b"s", "A"), GENERIC_SLURM))
    assert [made.says for _, made, _ in found] == ["right"]


def test_of_such_decisions_three_are_proposed_those_first_that_keep_the_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of equals the earlier stands first."""
    loses = {b"5": 2, b"1": 1, b"2": 0, b"3": 1, b"4": 0}
    monkeypatch.setattr(deciding, "decisions", lambda *_: [fix(name.decode()) for name in loses])
    monkeypatch.setattr(fate, "tried", lambda _, fix, again, loops=False: state(fix.says.encode()))
    monkeypatch.setattr(cost, "asks_for_less", lambda *_: False)
    monkeypatch.setattr(search, "shown", lambda *_: True)
    monkeypatch.setattr(declared_worlds, "lost", lambda _, after: (after,) * loses[after])
    found = list(fate._searched(wrong(), state(b"s", "A"), GENERIC_SLURM))
    assert [made.says for _, made, _ in found] == ["2", "4", "1"] and fate.MOST_SEARCHED == 3


def test_other_rules_are_named_in_the_order_of_their_codes() -> None:
    """Whose change cured it, and which must be settled first."""
    codes = ["MPL%d" % number for number in (308, 301, 307, 302, 306, 303, 305, 304)]
    listed = " and ".join(sorted(codes))
    found = (*(Finding(code, "wrong", None, True) for code in codes), wrong("do it", code="MPL201"))
    made = Rewritten(b"x", ARGV, tuple("%s x" % code for code in codes), ())
    said = fate.fates(Decision("repaired", found, repaired=made), "repair")(found[-1])
    assert said == "%s: by the change for %s" % (fate.FIXED, listed)
    held = tuple((code, "no") for code in codes)
    said = fate.fates(Decision("findings", found, held_back=held), "repair")(found[-1])
    assert said == "not applied: %s must be settled first. Possible fix: do it" % listed


def _endless(monkeypatch: pytest.MonkeyPatch, steps: Optional[int] = None) -> Decision:
    """Have each state lead to another, *steps* times, by a change of the first line; return a decision that may."""
    monkeypatch.setattr(fate, "advised", lambda job, site: state(b"0\nb\n", "A"))

    def following(state_: Any, *_: Any) -> Any:
        at = int(state_.job.source[:-3])
        edit = Edit(Span(0, len(b"%d" % at)), b"%d" % (at + 1), "A%d" % at)
        return None if at == steps else (wrong(), fix("%d" % at, edit), state(b"%d\nb\n" % (at + 1), "A"))

    monkeypatch.setattr(fate, "_next", following)
    return Decision("findings", (wrong("x"),))


@pytest.mark.parametrize("steps", [0, 1, 5, 6, 7, None])
def test_what_all_that_is_proposed_makes_has_six_changes_at_most(
    monkeypatch: pytest.MonkeyPatch, steps: Optional[int]
) -> None:
    """Each is said with its rule; of none there is no offer."""
    decision = _endless(monkeypatch, steps)
    made = fate.suggested(decision, submitted(TWO_WORLDS), GENERIC_SLURM, None)
    many = min(6, 6 if steps is None else steps)
    says = tuple("A %d" % at for at in range(many))
    expected = Rewritten(b"%d\nb\n" % many, ARGV, says, tuple((1, "A%d" % at) for at in range(many)))
    assert made == (decision._replace(offered=expected) if many else decision)


def test_nothing_is_proposed_beside_a_change_nor_where_none_may_be_nor_what_bash_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decision = _endless(monkeypatch, 1)
    other = Rewritten(b"other", ARGV, (), ())
    asked = submitted(TWO_WORLDS)
    for told in (wrong("x"), wrong("x", proven=False), wrong()):
        assert fate.suggested(decision._replace(findings=(told,)), asked, GENERIC_SLURM, None).offered is not None
    for without in (
        decision._replace(repaired=other),
        decision._replace(offered=other),
        decision._replace(findings=(wrong(proven=False),)),
        decision._replace(findings=()),
    ):
        assert fate.suggested(without, asked, GENERIC_SLURM, None) == without
    monkeypatch.setattr(fate, "_parses", lambda source: source != b"1\nb\n")
    assert fate.suggested(decision, asked, GENERIC_SLURM, None) == decision


def _ways_of(monkeypatch: pytest.MonkeyPatch, names: list[str]) -> Decision:
    """Have each name be a change to a script of that name."""
    monkeypatch.setattr(fate, "advised", lambda job, site: state(b"0\n", "A"))
    monkeypatch.setattr(fate, "_each", lambda *_: iter([(wrong(), fix(name), state(name.encode())) for name in names]))
    return Decision("findings", (wrong("x"),))


def _offered(decision: Decision) -> list[Optional[bytes]]:
    return [made.script for made in fate.offers(decision, submitted(TWO_WORLDS), GENERIC_SLURM, None)]


@pytest.mark.parametrize("many", [0, 1, 8, 9, 10, 20])
@pytest.mark.parametrize("offered", YES_NO)
def test_of_the_ways_on_offer_nine_are_told(monkeypatch: pytest.MonkeyPatch, many: int, offered: bool) -> None:
    """What is offered stands first and counts."""
    decision = _ways_of(monkeypatch, ["w%d" % at for at in range(many)])
    first = Rewritten(b"first", ARGV, ("A x",), ())
    decision = decision._replace(offered=first) if offered else decision
    names = [b"first"] * offered + [b"w%d" % at for at in range(many)]
    assert _offered(decision) == names[:9]


def test_each_way_on_offer_is_another_and_one_that_bash_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done unasked is none of them, and beside it there are no others."""
    decision = _ways_of(monkeypatch, ["one", "one", "bad", "two"])
    monkeypatch.setattr(fate, "_parses", lambda source: source != b"bad")
    assert _offered(decision) == [b"one", b"two"]
    made = Rewritten(b"made", ARGV, ("A x",), ())
    assert _offered(decision._replace(repaired=made, offered=made)) == []
    assert _offered(decision._replace(repaired=made, offered=made._replace(script=b"more"))) == [b"more"]
    assert _offered(decision._replace(findings=())) == []
