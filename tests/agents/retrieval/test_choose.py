"""The paradigm of a request: what was said decides, what was described is found, what fits nothing is None."""

from __future__ import annotations

import re

import pytest
from maple_agents.base.slots import Origin, Slot, Slots
from maple_agents.templates.retrieval import choose as choosing
from maple_agents.templates.retrieval.choose import Judge, choose, search, unread
from maple_agents.templates.retrieval.passages import Passage

from tests.bench import retrieval_cases

CASES = retrieval_cases.load()
EVERY = choosing.load()


class Forbidden:
    """A judge that must not be asked."""

    note = ""

    def judged(self, text, *, meaning=True):
        raise AssertionError("exact slots decide")


@pytest.fixture(scope="module")
def by_words():
    """The judge where nothing is installed."""
    return Judge(EVERY, note="no embedder here")


def slot(name, value, start=0, end=0):
    return Slot(name, value, Origin("request", "", start, end))


def test_a_paradigm_that_was_said_decides():
    found = choose("shard it with torch", Slots([slot("paradigm", "zero3")]), judge=Forbidden())
    assert (found.paradigm, found.score, found.by) == ("zero3", 1.0, "slots")


def test_a_paradigm_that_is_not_known_is_not_exchanged_for_one_like_it():
    assert choose("zero stage 1 on 4 nodes", Slots([slot("paradigm", "zero1")]), judge=Forbidden()) is None


@pytest.mark.parametrize(("launcher", "paradigm"), [("accelerate", "accelerate-ddp"), ("deepspeed", "zero3")])
def test_a_launcher_that_one_paradigm_has_decides(launcher, paradigm):
    found = choose("train", Slots([slot("launcher", launcher)]), judge=Forbidden())
    assert (found.paradigm, found.by, found.because) == (paradigm, "slots", "the launcher %s" % launcher)


@pytest.mark.parametrize("launcher", ["torchrun", "srun", "mpiexec", "ibrun", ""])
def test_a_launcher_of_several_paradigms_decides_nothing(launcher, by_words):
    assert choosing.owner(EVERY, launcher) == ""
    assert choose("train it", Slots([slot("launcher", launcher)]), judge=by_words) is None


def test_what_is_described_is_found_with_the_passage_that_tells(by_words):
    found = choose(
        "tensor slices in a node, pipeline stages between nodes, data replicas of both", Slots(), judge=by_words
    )
    assert (found.paradigm, found.by, found.note) == ("3d", "words", "no embedder here")
    assert found.score >= choosing.ENOUGH
    assert "templates/paradigm/3d.toml" in found.because and len(found.because) < 250


@pytest.mark.parametrize("text", ["", "  ", "?!", "4", "train", "\0\ud800", "x" * 50_000, "the of and"])
def test_texts_that_tell_nothing_are_none(text, by_words):
    assert choose(text, Slots(), judge=by_words) is None


def test_words_that_slots_were_read_from_are_not_searched_with(by_words):
    text = "gradients averaged among replicas with run_pipeline_stages_tensor.py"
    at = text.index("run_")
    slots = Slots([slot("program", text[at:], at, len(text))])
    assert unread(text, slots) == text[:at] + " " * (len(text) - at)
    elsewhere = Slot("program", "x.py", Origin("script", "", 0, 20))
    assert unread(text, Slots([elsewhere])) == text


def test_a_sure_answer_by_words_loads_no_model(stand_in):
    embedder = stand_in()
    found = search(
        "Hugging Face launcher, huggingface accelerator.prepare, num_machines, machine_rank", Judge(EVERY, embedder)
    )
    assert (found.paradigm, found.by) == ("accelerate-ddp", "words")
    assert embedder.asked == []


def test_an_unsure_one_asks_for_the_meaning(stand_in):
    embedder = stand_in()
    judge = Judge(EVERY, embedder)
    search("each card has the entire network", judge)
    assert embedder.asked
    assert judge.judged("each card has the entire network").by == "words and meaning"


def test_a_cluster_that_cannot_start_it_has_no_choice(monkeypatch, by_words):
    text = "tensor slices in a node, pipeline stages between nodes, data replicas of both"
    monkeypatch.setattr(choosing, "_starts", lambda paradigm, cluster: paradigm != "3d")
    assert choose(text, Slots(), cluster=object(), judge=by_words) is None


def test_every_site_can_start_what_is_found(by_words):
    from maple_agents.write.clusters import cluster

    text = "tensor slices in a node, pipeline stages between nodes, data replicas of both"
    assert choose(text, Slots(), cluster("alcf-polaris"), by_words).paradigm == "3d"
    assert choose(text, Slots(), cluster("ncsa-delta"), by_words).paradigm == "3d"


def test_passages_name_the_file_they_stand_in():
    every = [*choosing.whole(EVERY), *choosing.parts(EVERY)]
    assert len({one.id for one in choosing.parts(EVERY)}) == len(choosing.parts(EVERY))
    assert {choosing.paradigm_of(one) for one in every} == set(EVERY)
    assert {re.sub(r"/[^/]*$", "", one.source) for one in every} == {"templates/paradigm", "templates/launch"}
    assert all(isinstance(one, Passage) and one.text for one in every)


def test_there_are_enough_cases_and_each_once():
    texts = [case.text.casefold() for case in CASES]
    assert len(texts) == len(set(texts))
    assert sum(bool(case.paradigm) for case in CASES) >= 300
    assert sum(case.family == "nothing" for case in CASES) >= 60
    assert {case.paradigm for case in CASES} - {""} == set(EVERY)


def test_no_case_holds_a_phrase_of_the_repository_nor_stands_in_one():
    """A case that a phrase list knows would measure the list."""
    phrases = [phrase.casefold() for one in EVERY.values() for phrase in one.phrases]
    sentences = [text.casefold() for one in EVERY.values() for text in [one.says, *one.described]]
    for case in CASES:
        text = case.text.casefold()
        assert not any(text in known for known in [*phrases, *sentences]), case.text
        if case.paradigm:
            held = [phrase for phrase in phrases if re.search(r"(?<!\w)%s(?!\w)" % re.escape(phrase), text)]
            assert not held, case.text


def test_by_words_alone_nothing_is_chosen_for_what_fits_nothing(by_words):
    """The table of `make bench-retrieval` has the figures; this holds the line that harm is rare."""
    spoke = [case.text for case in CASES if not case.paradigm and choose(case.text, Slots(), judge=by_words)]
    assert len(spoke) <= 0.03 * sum(not case.paradigm for case in CASES), spoke


def test_by_words_alone_a_choice_is_nearly_always_right(by_words):
    chosen = [(case, choose(case.text, Slots(), judge=by_words)) for case in CASES if case.paradigm]
    spoke = [(case, found) for case, found in chosen if found]
    wrong = [case.text for case, found in spoke if found.paradigm != case.paradigm]
    assert len(spoke) > 100 and len(wrong) <= 0.04 * len(spoke), wrong
