"""The second voter and the ranker of telling lines: what they have learnt, and what they do without it."""

from __future__ import annotations

import random

import pytest
from maple_agents.diagnose.rank import cause_event as ranker
from maple_agents.diagnose.recognise.neighbours import in_force, indexed, packed, unpacked, vote
from maple_agents.diagnose.values import Digest, Event, LogFile, Place, Severity, Stream

LINES = [
    ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpu_oom"),
    ("OSError: [Errno 122] Disk quota exceeded: '/home/ann/x.pt'", "disk_quota_or_full"),
    ("srun: error: node1: task 3: Exited with exit code 1", "follows"),
]


def digest(*texts: str) -> Digest:
    """Return a log whose errors say *texts*, one a line."""
    events = tuple(Event(Place("a", at), text, Severity.ERROR) for at, text in enumerate(texts, 1))
    return Digest((Stream(LogFile("a", "both"), 0, len(texts), texts, texts, 1),), events)


@pytest.mark.parametrize("text, cause", [
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 3)", "gpu_oom"),
    ("OSError: [Errno 122] Disk quota exceeded: '/scratch/bob/other.pt'", "disk_quota_or_full"),
    ("srun: error: nid000123: task 77: Exited with exit code 137", "follows"),
])  # fmt: skip
def test_numbers_and_paths_make_no_other_line(text, cause):
    """Another size, node and file: the nearest line is of the same class."""
    found = indexed(LINES).vote(text)
    assert found is not None and found.cause == cause and found.strength > 0.5


def test_what_is_like_nothing_has_no_vote():
    """No word in common: nobody votes."""
    assert indexed(LINES).vote("zzz qqq") is None


def test_the_file_holds_what_was_put_in():
    """Packed and read back it votes alike; what is no index is refused."""
    index = indexed(LINES)
    assert unpacked(packed(index)) == index
    with pytest.raises(ValueError, match="no index"):
        unpacked(b"no index at all")


def test_the_cause_is_told_before_its_consequences():
    """Of five errors in any order the one that says why is chosen, wherever it stands."""
    texts = [
        "srun: error: n1: task 0: Exited with exit code 1", "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED ***",
        "srun: error: n2: tasks 4-7: Terminated", "OSError: [Errno 122] Disk quota exceeded: '/home/ann/c.pt'",
    ]  # fmt: skip
    dice = random.Random(3)
    for _ in range(10):
        dice.shuffle(texts)
        found = ranker.telling(digest(*texts), ())
        assert found is not None and "quota" in found.text


def test_without_what_was_learnt_the_first_error_is_shown(monkeypatch):
    """A site's templates may lack the data."""
    monkeypatch.setattr(ranker, "weights_in_force", dict)
    found = ranker.telling(digest("srun: error: n1: task 0: Exited", "OSError: Disk quota exceeded"), ())
    assert found is not None and found.text.startswith("srun")
    assert ranker.telling(digest(), ()) is None


def test_what_is_out_is_not_chosen():
    """Events that are known to follow are no candidates."""
    found = ranker.telling(digest("a: error one", "OSError: Disk quota exceeded"), {Place("a", 2)})
    assert found is not None and found.place.line == 1


def test_the_shipped_lines_vote():
    """The data of the templates is there, and knows the commonest words."""
    index, found = in_force(), vote("OSError: [Errno 122] Disk quota exceeded: '/home/eve/model.pt'")
    assert index is not None and len(index.labels) > 2000
    assert found is not None and found.cause == "disk_quota_or_full"


def test_the_weights_in_force_have_the_signs_of_what_they_weigh():
    """A higher score, a second witness or a sentence never makes an answer less sure, and what speaks against it never
    surer.
    """
    from maple_agents.diagnose.rank.judges import sureness_in_force

    from tests.agents.debug.voter import AGAINST, FOR

    rows = [row for voter, row in sureness_in_force().items() if voter != "sentences"]
    assert rows and all({name for row in rows for name in row} >= part for part in (FOR, AGAINST))
    assert not [name for row in rows for name, weight in row.items() if name in FOR and weight < 0]
    assert not [name for row in rows for name, weight in row.items() if name in AGAINST and weight > 0]


def test_the_fit_keeps_the_signs():
    """Also where the answers at hand would have it the other way round."""
    from tests.agents.debug.voter import Answer, _logistic

    rows = [
        Answer("t", "entries", {"one": 1.0, "score": at / 10, "against": 1 - at / 10}, at < 5, 1.0) for at in range(10)
    ]
    weights = _logistic(rows)
    assert weights["score"] == 0.0 and weights["against"] == 0.0 and abs(weights["one"]) < 0.1
