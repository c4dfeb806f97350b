"""The second reader: pieces that cover a request, weights for its labels, and how it is heard beside the grammar."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from maple_agents.ask import sites
from maple_agents.base.slots import Origin, Slot, Slots, Unread
from maple_agents.cli.new.request import heard as listened
from maple_agents.cli.new.request import wanted
from maple_agents.request.tagger import model, reading
from maple_agents.request.tagger.model import ASIDE, OTHER, Tagged, tag, weights
from maple_agents.request.tagger.pieces import ROWS, features, pieces
from maple_agents.request.tagger.reading import Reading, Span, Tagging
from maple_agents.request.tagger.witness import decided, doubtful, heard

from tests.tagger.phrases import LANGUAGES, phrases
from tests.tagger.requests import LABELS, labels, requests
from tests.tagger.values import Values

DELTA = "ncsa-delta"


@given(some.text(max_size=300))
def test_every_character_but_blanks_stands_in_a_piece(text: str) -> None:
    """Each piece stands where it says, in order, and none twice."""
    found = pieces(text)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(one.end <= other.start for one, other in zip(found, found[1:], strict=False))
    covered = {at for one in found for at in range(one.start, one.end)}
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)


@given(some.text(max_size=300))
def test_any_text_is_tagged(text: str) -> None:
    """Whatever stands there: a label for each piece, none where there are too many."""
    assert len(tag(text)) in (0, len(pieces(text)))


def test_features_are_the_same_on_every_machine() -> None:
    """The weights are of no use to other hashes."""
    rows = features(pieces("on 4 nodes"))
    assert all(0 <= row < ROWS for each in rows for row in each)
    assert [each[:3] for each in rows] == [each[:3] for each in features(pieces("on 4 nodes"))]
    assert rows[1][:3] == [2427, 45250, 2955]


def test_the_weights_are_those_of_the_labels() -> None:
    """A label that the trainer got and the weights lack would be read as another."""
    known = weights()
    assert known.labels == LABELS
    assert len(known.rows) == ROWS * len(LABELS)
    assert len(known.chain) == len(LABELS)
    assert model.FILE.stat().st_size < 3_000_000


def test_no_library_beside_the_standard_one_is_loaded() -> None:
    """Where it runs: numpy is for training only."""
    code = "import sys; from maple_agents.request.tagger import model; model.tag('4'); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_same_seed_makes_the_same_requests() -> None:
    """And another seed others."""
    assert list(requests(20, 5)) == list(requests(20, 5))
    assert list(requests(20, 5)) != list(requests(20, 6))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_place_of_a_phrase_has_values(language: str) -> None:
    """In each language."""
    values = Values(random.Random(1), language)
    for kind in ("terse", "clause", "said"):
        for template in (one for each in phrases(language)[kind].values() for one in each):
            for name in set(re.findall(r"\{~?(\w+)\}", template)) - {"old", "new"}:
                assert values.of(name)


def test_a_span_of_a_made_up_request_is_a_whole_value() -> None:
    """It holds a sign, no two overlap, and each has a label that the weights have."""
    for one in requests(200, 7):
        assert all(one.text[start:end].strip() for start, end, label in one.spans if label != ASIDE)
        assert all(first[1] <= second[0] for first, second in zip(one.spans, one.spans[1:], strict=False))
        assert {label for _, _, label in one.spans} <= set(LABELS)


def test_requests_of_another_seed_are_read() -> None:
    """Nine pieces of ten that hold a slot get it."""
    right = wrong = 0
    for one in requests(80, 4711):
        got = tag(one.text)
        for each, truth in zip(
            got, labels(one.text, one.spans, [(each.piece.start, each.piece.end) for each in got]), strict=True
        ):
            if truth not in (OTHER, ASIDE):
                right += each.label == truth
                wrong += each.label != truth
    assert right / (right + wrong) > 0.9


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("train.py, 4 Knoten, zwei Stunden, Projekt abc123", "walltime", "02:00:00"),
        ("python train.py en 2 nodos durante 3 horas, cuenta m1234", "nodes", "2"),
        ("python train.py, 用4个节点, 跑2小时, 账号 m1234", "walltime", "02:00:00"),
        ("su 2 nodi per 3 ore, progetto m1234: python train.py", "walltime", "03:00:00"),
        ("sur 2 noeuds pendant 3 heures, projet m1234: python train.py", "nodes", "2"),
    ],
)
def test_spans_of_other_languages_have_a_normal_form(text: str, label: str, value: str) -> None:
    """By the grammar's lexicon of that language."""
    assert value in [one.value for one in reading.read(text).taggings if one.span.label == label]


def _reading(text: str, *read: tuple[str, str, str, float]) -> Reading:
    """Return a reading of *text*: words with label, normal form and margin; all else holds nothing, for sure."""
    said = []
    for words, label, value, margin in read:
        start = text.index(words)
        said.append(Tagging(Span(label, start, start + len(words), words, margin), value))
    found = []
    for piece in pieces(text):
        own = next((one.span for one in said if one.span.start <= piece.start < one.span.end), None)
        found.append(Tagged(piece, own.label if own else OTHER, own.margin if own else 9.0))
    return Reading(tuple(said), tuple(found))


def _heard(text: str, unread: Unread | None, *read: tuple[str, str, str, float], said: Slots = Slots()):  # noqa: B008
    return heard(text, _reading(text, *read), [unread] if unread else [], said, sites.load(DELTA))


def test_what_both_read_alike_is_a_value() -> None:
    """The gate's guess and the tagger's."""
    found = _heard("so 3 h of it", Unread("3 h", "walltime", "03:00:00", True), ("3 h", "walltime", "03:00:00", 1.0))
    assert [(slot.name, slot.value) for slot in found.slots] == [("walltime", "03:00:00")]
    assert not found.unread


def test_what_they_read_otherwise_is_asked() -> None:
    """Nobody is believed against the other."""
    guess = Unread("3 h", "walltime", "03:00:00", True)
    found = _heard("so 3 h of it", guess, ("3", "nodes", "3", 9.0))
    assert not found.slots
    assert found.unread == (guess,)


def test_what_the_site_knows_is_a_value() -> None:
    """A row of it, or the shape of its accounts, that the tagger reads as such."""
    found = _heard(
        "gpuA40x4 by bbbb-delta-gpu",
        None,
        ("gpuA40x4", "place", "gpuA40x4", 3.0),
        ("bbbb-delta-gpu", "account", "bbbb-delta-gpu", 3.0),
    )
    assert {(slot.name, slot.value) for slot in found.slots} == {
        ("partition", "gpuA40x4"),
        ("account", "bbbb-delta-gpu"),
    }


def test_what_the_site_does_not_know_is_none() -> None:
    """A place that it has not, an account of another shape: the second is asked about."""
    found = _heard("night by xyz", None, ("night", "place", "night", 9.0), ("xyz", "account", "xyz", 9.0))
    assert not found.slots
    assert found.unread == (Unread("xyz", "account", "xyz", True),)


def test_beside_a_word_that_nobody_is_sure_of_the_question_stays() -> None:
    """It may be what else is lost; a value that gate and tagger have alike needs no more."""
    guess = Unread("3 h", "walltime", "", True)
    text = "so 3 h dbg"
    tagger = _reading(text, ("3 h", "walltime", "03:00:00", 9.0))
    unsure = tuple(one._replace(margin=0.5) if one.piece.text == "dbg" else one for one in tagger.pieces)
    found = heard(text, tagger._replace(pieces=unsure), [guess], Slots(), sites.load(DELTA))
    assert (found.slots, found.unread) == ((), (guess,))


def test_a_choice_is_no_value() -> None:
    """Whoever writes "or" has not decided."""
    guess = Unread("3 h", "walltime", "03:00:00", True)
    found = _heard("3 h or so", guess, ("3 h", "walltime", "03:00:00", 9.0))
    assert (found.slots, found.unread) == ((), (guess,))


def test_what_only_the_tagger_reads_is_asked() -> None:
    """With the value, so that a yes is enough; below the margin it is passed over."""
    assert _heard("go 4", None, ("4", "nodes", "4", 3.0)).unread == (Unread("4", "nodes", "4", True),)
    assert not _heard("go 4", None, ("4", "nodes", "4", 0.5)).unread


def test_what_is_asked_anyway_is_left_to_that_question() -> None:
    """The grammar has two values for it: the tagger's one decides nothing."""
    text = "go 4"
    found = heard(text, _reading(text, ("4", "nodes", "4", 9.0)), [], Slots(), sites.load(DELTA), ("nodes",))
    assert not found.slots and not found.unread


def test_a_tagger_of_two_minds_decides_nothing() -> None:
    """Two times that it reads: the gate's question stays."""
    guess = Unread("3 h", "walltime", "03:00:00", True)
    found = _heard("3 h then 5 h", guess, ("3 h", "walltime", "03:00:00", 9.0), ("5 h", "walltime", "05:00:00", 9.0))
    assert not found.slots
    assert found.unread == (guess,)


def test_training_is_the_same_twice() -> None:
    """A seed makes the weights, byte by byte."""
    from tests.tagger.train import trained

    assert trained(12, 1, 3) == trained(12, 1, 3)


def test_what_was_said_stands() -> None:
    """A second value of a slot that is read is none of the tagger's business."""
    said = Slots([Slot("nodes", 2, Origin("request", "2 nodes", 0, 7))])
    assert not _heard("2 nodes, 4", None, ("4", "nodes", "4", 9.0), said=said).unread


@pytest.mark.parametrize(("word", "stops"), [("zebra", False), ("--zebra", True), ("$ZEBRA", True)])
def test_a_word_that_surely_holds_nothing_is_told(word: str, stops: bool) -> None:
    """It stops no script, unless it has the form of an option or a variable."""
    found = _heard("so %s it is" % word, Unread(word, stops=True))
    assert [one.stops for one in found.unread] == [stops]


def test_without_weights_the_grammar_reads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before there was a tagger."""

    def gone(text: str) -> Reading:
        raise OSError("no weights")

    monkeypatch.setattr(reading, "read", gone)
    assert listened(wanted("train.py on 2 nodes, 1 hour", (), DELTA, "")).slots.number("nodes") == 2


def test_weights_that_are_not_whole_are_an_error_of_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that the grammar reads alone then too."""
    (tmp_path / "weights.bin").write_bytes(model.FILE.read_bytes()[:5000])
    monkeypatch.setattr(model, "FILE", tmp_path / "weights.bin")
    with pytest.raises(ValueError, match="weights.bin"):
        weights.__wrapped__()


def test_what_the_gate_only_suspects_the_tagger_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of `maple new`: nothing stops the script for it, and the value has its words."""
    guess = Unread("2 hours", "walltime", "02:00:00", True)
    asked = wanted("train.py on 4 nodes, account abc123, 2 hours", (), DELTA, "")
    before = asked._replace(slots=Slots(one for one in asked.slots.values() if one.name != "walltime"), unread=(guess,))
    found = listened(before)
    assert found.slots.text("walltime") == "02:00:00"
    assert found.slots["walltime"].origin.where == "2 hours"
    assert not found.unread


def test_of_two_values_the_one_of_another_job_is_told():
    """Where the tagger is sure; a pasted line never wins so, and of GPUs beside nodes nobody knows whose they are."""
    text = "she has 8 nodes, I need 2 nodes"
    doubted = [
        Slot("nodes", 8, Origin("request", "8 nodes", 8, 15)),
        Slot("nodes", 2, Origin("request", "2 nodes", 24, 31)),
    ]
    told = _reading(text, ("8 nodes", "X", "", 2.0), ("2", "nodes", "2", 2.0))
    assert [slot.value for slot in decided(text, told, doubted, Slots()).slots] == [2]
    assert decided(text, told, doubted, Slots()).unread == (Unread("8 nodes"),)
    unsure = _reading(text, ("8 nodes", "X", "", 0.5), ("2", "nodes", "2", 2.0))
    assert not decided(text, unsure, doubted, Slots()).slots
    gpus = [slot._replace(name="gpus_total") for slot in doubted]
    assert not decided(text, told, gpus, Slots([Slot("nodes", 2, Origin("request"))])).slots
    pasted = "#SBATCH -N 2\nshe has 8 nodes"
    old = [Slot("nodes", 2, Origin("request", "-N 2", 8, 12)), Slot("nodes", 8, Origin("request", "8 nodes", 21, 28))]
    assert not decided(pasted, _reading(pasted, ("8 nodes", "X", "", 2.0)), old, Slots()).slots


def test_a_value_that_is_surely_of_another_job_is_asked_about():
    """Even where it is the only one; an option on the command line is no words of a request."""
    text = "the last one hit 4h"
    told = _reading(text, ("4h", "X", "", 5.0))
    said = Slot("walltime", "04:00:00", Origin("request", "4h", 17, 19))
    assert [missing.slot for missing in doubtful(told, Slots([said]))] == ["walltime"]
    assert not list(doubtful(_reading(text, ("4h", "X", "", 1.0)), Slots([said])))
    assert not list(doubtful(told, Slots([said._replace(origin=Origin("option", "4h", 17, 19))])))
