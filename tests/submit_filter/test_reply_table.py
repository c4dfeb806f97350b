"""What a submission is answered follows from a few things: a table over all of them."""

from __future__ import annotations

import itertools
import json
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.answer import reply as answering
from maple_submit_filter.answer.audit_line import AuditLine, audit_line, read_audit
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.answer.reply import answered, heard, partitions, unasked, unwrapped, usable, whole
from maple_submit_filter.answer.terminal import MOST, Report, checking, message
from maple_submit_filter.answer.trailer import _delimiters, closed, may_close
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.request.slurm.submission import wrapped
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\nsrun a\nsrun b\n"
ARGV = (b"sbatch", b"job.sh")
ASKED = Submission("slurm", ARGV, SCRIPT, "file", b"job.sh", b"/work", 1000, {})
FOUND = (Finding("MPL301", "wrong", Span(12, 16), True), Finding("MPL302", "also", Span(19, 23), True))
SAFE = Rewritten(SCRIPT.replace(b"run a", b"run c"), ARGV, ("MPL301 c",), ((2, "MPL301"),))
ASK = Rewritten(SCRIPT.replace(b"run b", b"run d"), ARGV, ("MPL302 d",), ((3, "MPL302"),))
DECISIONS = {
    "clean": Decision("clean"),
    "unread": Decision("unread", why="too long"),
    "findings": Decision("findings", FOUND),
    "offered": Decision("findings", FOUND, offered=ASK),
    "repaired": Decision("repaired", FOUND, repaired=SAFE, offered=SAFE),
    "both": Decision("repaired", FOUND, repaired=SAFE, offered=ASK),
}
POLICIES = {
    "repair": Policy(), "warn": Policy("warn"), "observe": Policy("observe"),
    "a rule warns": Policy(rules={"MPL301": "warn"}), "another warns": Policy(rules={"MPL302": "warn"}),
}  # fmt: skip


def replied(decision: Decision, policy: Policy, terminal: bool, may_ask: bool, asked: Submission = ASKED) -> Reply:
    request = Request(b"n" * 16, b"h" * 32, asked, 1, 0, may_ask, terminal)
    return answered(request, GENERIC_SLURM, policy, policy.mode, decision)


def verdict(audit: bytes) -> str:
    return json.loads(audit)["verdict"] if audit else ""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("made", DECISIONS)
def test_a_reply_follows_from_decision_mode_and_terminal(made: str, policy: str) -> None:
    """What is done, what is asked, what is written down and whether anything is said."""
    decision, rules = DECISIONS[made], POLICIES[policy]
    repairs = rules.mode == "repair"
    for terminal, may_ask in itertools.product((True, False), repeat=2):
        reply = replied(decision, rules, terminal, may_ask)
        changes = decision.repaired is not None and repairs and policy != "a rule warns"
        offers = may_ask and made in ("offered", "both") and repairs and policy != "another warns"
        assert (reply.change is not None, reply.offer is not None, bool(reply.question)) == (changes, offers, offers)
        if reply.change is not None:
            assert (reply.change.script or b"").startswith(SAFE.script or b"-") and reply.change.argv is None
            assert verdict(reply.change.audit) == "repaired" and not reply.audit
        else:
            held = "rule-mode" if repairs else "would-repair"
            wanted = held if decision.repaired else {"offered": "findings"}.get(made, made)
            assert verdict(reply.audit) == ("" if made == "clean" else wanted)
        if reply.offer is not None:
            assert (reply.offer.script or b"").startswith(ASK.script or b"-")
            assert verdict(reply.offer.audit) == "accepted"
        assert bool(reply.say) == (terminal and rules.mode != "observe" and made not in ("clean", "unread"))
        assert (reply.nonce, reply.hash) == (b"n" * 16, b"h" * 32)


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        (SAFE, True),
        (SAFE._replace(script=None), False),  # nothing is another then
        (SAFE._replace(script=None, argv=(b"sbatch", b"-N2", b"job.sh")), True),
        (SAFE._replace(script=SCRIPT + b"\0"), False),
        (None, False),
    ],
)
def test_a_change_that_can_be_handed_over(change: Optional[Rewritten], taken: bool) -> None:
    assert usable(ASKED, change) == (change if taken else None)
    decision = Decision("repaired", FOUND, repaired=change)
    assert (replied(decision, Policy(), True, False).change is not None) == taken


@given(st.binary(max_size=60))
def test_a_command_comes_out_of_its_wrapping_as_it_went_in(command: bytes) -> None:
    """And what sbatch would not have wrapped so is none."""
    assert unwrapped(wrapped(command)) == command
    assert unwrapped(b"x" + wrapped(command)) is None is unwrapped(wrapped(command) + b"x")
    asked = ASKED._replace(script=command, came="wrap")
    assert whole(asked).script == wrapped(command) and whole(asked._replace(came="file")).script == command
    assert whole(asked._replace(script=None)).script is None


@pytest.mark.parametrize(
    ("words", "line", "around", "named"),
    [
        ((b"-p", b"gpu"), b"", b"", ("gpu",)), ((b"-pgpu",), b"", b"", ("gpu",)),
        ((b"--partition", b"gpu"), b"", b"", ("gpu",)), ((b"--partition=gpu",), b"", b"", ("gpu",)),
        ((b"--part=gpu,cpu",), b"", b"", ("gpu", "cpu")), ((b"-N2",), b"", b"", ()),
        ((), b"#SBATCH -p gpu", b"", ("gpu",)), ((), b'#SBATCH --partition="gpu"', b"", ("gpu",)),
        ((), b"# -p gpu", b"", ()), ((), b"", b"gpu", ("gpu",)), ((b"-p", b"a"), b"#SBATCH -pb", b"c", ("c", "a", "b")),
    ],
)  # fmt: skip
def test_every_partition_that_is_named_counts(
    words: tuple[bytes, ...], line: bytes, around: bytes, named: tuple[str, ...]
) -> None:
    """In force or not; where the policy speaks of none nobody looks."""
    environment = {b"SBATCH_PARTITION": around} if around else {}
    script = b"#!/bin/bash\n%b\n" % line
    asked = ASKED._replace(argv=(b"sbatch", *words, b"job.sh"), script=script, environment=environment)
    assert partitions(asked, Policy(partitions={"x": "off"})) == named
    assert partitions(asked, Policy()) == ()


@pytest.mark.parametrize(
    ("argv", "named"), [((b"-q", b"debug@host"), ("debug",)), ((b"-q", b"prod"), ("prod",)), ((), ())]
)
def test_a_queue_is_named_without_its_server(argv: tuple[bytes, ...], named: tuple[str, ...]) -> None:
    asked = ASKED._replace(scheduler="pbs", argv=(b"qsub", *argv, b"job.sh"), script=b"#!/bin/bash\n#PBS -q here\n")
    assert set(partitions(asked, Policy(partitions={"x": "off"}))) == {*named, "here"}


@pytest.mark.parametrize(
    ("value", "terminal", "says"),
    [(b"of", True, True), (b"of", False, False), (b"off", True, False), (b"", True, False)],
)
def test_who_mistyped_off_is_told_the_words(value: bytes, terminal: bool, says: bool) -> None:
    request = Request(b"n" * 16, b"h" * 32, ASKED._replace(environment={b"MAPLE": value}), terminal=terminal)
    assert bool(unasked(request).say) == says
    assert not unasked(request._replace(submission=request.submission._replace(script=None))).say


@pytest.mark.parametrize(
    ("comment", "left"),
    [(b"", 3), (b"# maple: ignore MPL301", 2), (b"# maple: ignore MPL303", 2), (b"# maple: ignore MPL302", 2)],
)
def test_what_is_silenced_is_not_heard(comment: bytes, left: int) -> None:
    """Once for the file, at its head; a finding without a place too."""
    script = b"#!/bin/bash\n%b\nsrun a\nsrun b\n" % comment
    at = script.index(b"srun a"), script.index(b"srun b")
    found = (Finding("MPL301", "x", Span(at[0], at[0] + 1)), Finding("MPL302", "x", Span(at[1], at[1] + 1)),
             Finding("MPL303", "x"))  # fmt: skip
    assert len(heard(Decision("findings", found), script)) == left


@pytest.mark.parametrize("many", [1, MOST - 1, MOST, MOST + 1, MOST + 9])
def test_a_terminal_is_told_so_many_findings_and_how_many_more(many: int) -> None:
    found = tuple(Finding("MPL%d" % (301 + at), "wrong", Span(12, 13), True) for at in range(many))
    lines = message(Report(ASKED, Decision("findings", found), found, "warn", False, False)).decode().splitlines()
    assert sum(" error MPL" in one for one in lines) == min(many, MOST)
    more = [one for one in lines if " more" in one]
    assert more == (["maple: job.sh: and %d more" % (many - MOST)] if many > MOST else [])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((b"job.sh",), "maple check job.sh"), ((b"-N2", b"job.sh"), "maple check job.sh -- -N2"),
        ((b"-N", b"2", b"job.sh"), "maple check job.sh -- -N 2"),
        ((b"--nodes=2", b"--time", b"10", b"job.sh"), "maple check job.sh -- --nodes=2 --time 10"),
        ((b"--comment=secret", b"job.sh"), "maple check job.sh -- ..."),
        ((b"-N2", b"job.sh", b"--key=secret"), "maple check job.sh -- -N2 -- ..."),
        ((b"job.sh", b"secret"), "maple check job.sh -- -- ..."), ((b"other.sh",), ""),
    ],
)  # fmt: skip
def test_a_check_is_shown_with_the_words_that_ask_for_resources(words: tuple[bytes, ...], shown: str) -> None:
    """Any other may be a secret."""
    assert checking(ASKED._replace(argv=(b"sbatch", *words))) == shown
    assert checking(ASKED._replace(argv=(b"sbatch", *words), came="stdin")) == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"cat <<END", [(b"END", False)]),
        (b"cat <<-END", [(b"END", True)]),
        (b"cat << END", [(b"END", False)]),
        (b"cat <<'E F'", [(b"E F", False)]),
        (b'cat <<"END"; x', [(b"END", False)]),
        (b"cat <<\\END", [(b"END", False)]),
        (b"cat <<A <<B", [(b"A", False), (b"B", False)]),
        (b"cat <<<word", []),
        (b"cat <<<word <<END", [(b"END", False)]),
        (b"x=$((1 << 3))", []),
        (b"cat <<END|x", [(b"END", False)]),
        (b"(cat <<END)", [(b"END", False)]),
        (b"cat <<", []),
        (b"cat <<'END'x", [(b"ENDx", False)]),
        (b"a", []),
    ],
)
def test_where_a_here_document_ends(line: bytes, words: list[tuple[bytes, bool]]) -> None:
    assert _delimiters(line) == words


@pytest.mark.parametrize(
    ("source", "may"),
    [
        (b"exec a\npayload\n", False),
        (b"exit;\npayload\n", False),
        (b"exit\n \n\t# x\n", True),
        (b"exits\npayload\n", True),
        (b"\texit\nsrun a\n", True),
        (b"cat <<A <<B\nA\nB\n", True),
        (b"cat <<A <<B\nB\nA\n", False),
        (b"# cat <<A\n", True),
        (b"  # cat <<A\n", True),
        (b"cat $0\n", False),
        (b"cat x; echo $0\n", False),
        (b"ls ${0}\n", True),
        (b"a\\\n\n", False),
        (b"", True),
        (b"a", True),
    ],
)
def test_a_comment_ends_a_script_that_can_take_it(source: bytes, may: bool) -> None:
    assert may_close(source) == may
    end = b"# maple: repaired (MPL301 MPL302); record r; original sha256 h; MAPLE=off sbatch ... submits as written\n"
    whole_line = b"" if source.endswith(b"\n") else b"\n"
    assert closed(source, ("MPL301", "MPL302"), "r", "h", "sbatch", b"") == source + whole_line + end
    assert closed(source, (), "r", "h", "qsub", b"#") == source != closed(source, (), "r", "h", "qsub", b"#PBS")


def test_an_audit_line_comes_back_and_another_is_refused() -> None:
    """Also one of a later release; of what was not measured there is nothing."""
    line = AuditLine("t", "h", 1, "r", "j", "repaired", "repair", ("MPL301",), "s", "1", "file")
    for one in (line, line._replace(ms=0), line._replace(ms=7, late=("daemon",))):
        text = audit_line(one)
        assert read_audit(text) == one == read_audit(text[:-1] + b',"later":1}')
        assert (b'"ms"' in text, b'"late"' in text) == (one.ms is not None, bool(one.late))
    for bad in (b"[]", b"1", b"{}", audit_line(line).replace(b'"codes"', b'"code"')):
        with pytest.raises(ValueError, match="audit line"):
            read_audit(bad)
    assert answering.record_id(Request(bytes(range(16)), b"", ASKED)) == "0001020304050607"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("abc", "axc", "-b +x"),
        ("abc", "xby", "-a +x -c +y"),
        ("abc", "abc", ""),
        ("abc", "ac", "-b"),
        ("ac", "abc", "+b"),
        ("abc", "x", "-a -b -c +x"),
        ("abcd", "axd", "-b -c +x"),
        ("ab", "abb", "+b"),
        ("abb", "ab", "-b"),
        ("", "x", "+x"),
        ("x", "", "-x"),
        ("ab", "abc", "+c"),
        ("bc", "abc", "+a"),
    ],
)
def test_of_two_texts_the_lines_that_differ_are_shown(old: str, new: str, shown: str) -> None:
    """Line by line where they have as many; else what is left between what both begin and end with."""
    lines = answering.changed_lines([one.encode() for one in old], [one.encode() for one in new])
    assert " ".join(line.removeprefix("maple:   ").replace(" ", "") for line in lines) == shown
