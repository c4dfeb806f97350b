"""What is read fast is read the same: short ways give what the long ones give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.base.expressions import needed
from maple_agents.diagnose.read import Limits, digest, literals, progress, read, severity, templates
from maple_agents.diagnose.read.templates import SHORTEST, Screened
from maple_agents.diagnose.read.units import voices
from maple_agents.diagnose.read.units.prefixes import Speaker, bracketed, last_rows, numbered, speaker
from maple_agents.diagnose.values import LogFile

SCREENED = {
    f"{module.__name__.rpartition('.')[2]}.{name}": one
    for module in (severity, progress, templates)
    for name, one in vars(module).items()
    if isinstance(one, Screened)
}
WORDS = [
    "error", "Error", "failed", "warn", "Xid", "code", "exit", "status", " ", "  ", ":", "-", "1", "137", "0x1f",
    "deadbee5", "2026-11-21T00:32:33", "step", "loss", "/s", "3%|", "task", "signal", "(", "=", "'", '"', "/", "ſ", "K",
    "\t", "deadbe5", "rc", "errno", "[Errno", "nan", "without", "--", "level", "T", "_", ".", ",", "é", "\u2003",
]  # fmt: skip
LINES = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=14).map("".join)


@pytest.mark.parametrize("name", SCREENED)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_screen_hides_no_match(name: str, data: st.DataObject) -> None:
    """Whatever an expression matches, between other words, passes its screen."""
    one = SCREENED[name]
    assert one.literals, "a screen that lets everything through is none"
    text = data.draw(LINES) + data.draw(st.from_regex(one.expression)) + data.draw(LINES)
    for words in (text, data.draw(LINES)):
        found, wanted = one.search(words), one.expression.search(words)
        assert (found and found.span()) == (wanted and wanted.span()), words


PATTERNS = {
    "abc": {"abc"}, "ab|cd": {"ab", "cd"}, "ab|c": set(), "(?:ab)?cd": {"cd"}, "(?:ab)+c*": {"ab"}, "[ab]cd?ef": {"ef"},
    "ab(?=cdef)": {"ab"}, "(?i:abc)de": {"de"}, "abc|x(?:yz|uvw)": {"abc", "yz", "uvw"}, "a.b": set(),
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "wanted"), PATTERNS.items(), ids=list(PATTERNS))
def test_what_a_match_needs(pattern: str, wanted: set[str]) -> None:
    """Literals that may be left out, or stand in one alternative alone, promise nothing."""
    assert needed(pattern, 0, SHORTEST) == wanted


def test_protocols_are_no_numbers() -> None:
    """What is said of IPv4 isn't said of IPv6: the second is often tried in vain, and the first serves."""
    assert templates.template("The IPv4 addresses of n7") != templates.template("The IPv6 addresses of n8")


def test_letters_that_are_the_same_only_to_an_expression() -> None:
    """A long s is an s where letters may be small or great."""
    assert Screened("task", re.I).search("ta\u017fk") and not Screened("task").search("ta\u017fk")


def test_a_screen_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen finds the same where its library is missing."""
    monkeypatch.setattr(templates, "automaton", literals.expression)
    one = Screened("Killed|[Ee]rror", re.NOFLAG)
    assert one.may_match("an Error") and one.may_match("Killed") and not one.may_match("killed")


def test_a_step_of_a_job_is_no_progress() -> None:
    """What srun terminates is no step of training."""
    assert progress.is_progress("step 90233 done") and not progress.is_progress("srun: Terminating job step 90233.0")


# --- templates -----------------------------------------------------------------------------------------------------

PLAIN_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d[\d.,:_T-]*\d|-?\d|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.I)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_templates_are_the_same_both_ways(text: str) -> None:
    """A line without the name of a fault takes a shorter way, and words without quotes do."""
    if not templates._FAULTS.may_match(text):
        assert templates.template(text) == PLAIN_NUMBER.sub("#", text) == templates._NAMED.sub(templates._masked, text)
    assert templates.shape(text) == " ".join(templates._NAMES.sub("*", text).split()[: templates.WORDS])


# --- ranks ---------------------------------------------------------------------------------------------------------

LABELS = [
    b"[rank%d]: x",
    b"[rank0%d] y",
    b"[rank%d",
    b"%d: x",
    b"  %d: 1",
    b"      %d: x",
    b"%d:",
    b"%d:5",
    b"12:%d:33 at",
    b"%d",
    b"",
]
SPOKEN = st.lists(
    st.tuples(st.sampled_from(LABELS), st.integers(0, 12) | st.integers(0, 10**7)).map(
        lambda one: one[0] % one[1] if b"%" in one[0] else one[0]
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(SPOKEN, st.sampled_from([bracketed, numbered]), st.integers(1, 2000))
def test_last_rows_of_ranks(lines: list[bytes], rank_of: Speaker, times: int) -> None:
    """Each rank has the row that a look at every line gives, however long it has been silent."""
    lines = lines + [b"[rank3]: x", b"3: x"] * times
    slowly = {rank: row for row, line in enumerate(lines) if (rank := rank_of(line)) is not None}
    assert last_rows(lines, rank_of) == slowly


def test_a_label_is_found_on_any_line() -> None:
    """One line in a block that bears a rank is enough."""
    for lines in ([b"[rank3]: x", b"y"], [b"y", b"[rank3]: x"], [b"[", b"[ran", b"[rank3]"]):
        assert speaker(b"\n".join(lines), lines) is bracketed
    assert speaker(b"[\n[ran\n [rank3]", [b"[", b"[ran", b" [rank3]"]) is None


# --- whole logs ----------------------------------------------------------------------------------------------------

PIECES = [
    b"Traceback (most recent call last):", b'  File "/a/b.py", line 3, in f', b"ValueError: x 1", b"KeyError: 'y'",
    b"warning: slow link 7", b"step 5 loss 0.25", b"epoch 3/9", b"exit code 137", b"srun: error: n1: task 3: Killed",
    b"val_error=0.25", b"level=error msg=x", b"2026-11-21 00:32:33,1 INFO a: no error", b"hello", b"", b"Xid 79",
]  # fmt: skip


def _slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every expression be tried on every line, and every line be looked at for its rank."""

    def last(lines: Sequence[bytes], rank_of: Speaker) -> dict[int, int]:
        return {rank: row for row, line in enumerate(lines) if (rank := rank_of(line)) is not None}

    monkeypatch.setattr(Screened, "may_match", lambda self, text: True)
    monkeypatch.setattr("maple_agents.diagnose.read.selection.last_rows", last)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 9)), max_size=60),
    st.sampled_from([b"[rank%d]: ", b"%d: ", b"nid00%d: ", b""]),
    st.sampled_from([1, 30]),
)
def test_interleavings_are_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[bytes, int]], label: bytes, times: int
) -> None:
    """Lines of ranks in turns give an equal digest by the short ways and by the long ones."""
    path = tmp_path_factory.mktemp("same") / "job.log"
    lines = [(label % rank if label else b"") + piece + b"\n" for piece, rank in said]
    path.write_bytes(b"".join(lines * times))
    limits = Limits(block=3000, head=5, tail=5, kept=300, copies=3)
    fast = read([LogFile(str(path), "both")], [b"slow link"], limits)
    with pytest.MonkeyPatch.context() as patch:
        _slowly(patch)
        digest._search.cache_clear()
        assert read([LogFile(str(path), "both")], [b"slow link"], limits) == fast


def test_a_corpus_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do the recorded runs."""
    logs = sorted((Path(__file__).parents[2] / "cases" / "logs" / "recorded").glob("*/job.log"))
    fast = [read([LogFile(str(log), "both")]) for log in logs]
    _slowly(monkeypatch)
    assert [read([LogFile(str(log), "both")]) for log in logs] == fast and fast


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES.map(lambda text: text.replace("\n", " ").encode("utf-8", "surrogatepass")), max_size=9))
def test_fingerprints_of_a_block_are_those_of_its_lines(lines: list[bytes]) -> None:
    """Made for all lines at once, they are what each line's own is."""
    here = voices.rows(b"".join(line + b"\n" for line in lines), 1)
    assert [hash(part) for part in voices.heavy_parts(here)] == [voices.fingerprint(line) for line in here.lines]
