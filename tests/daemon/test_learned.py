"""Which lineage a submission is of, before anybody has looked at it closely; where two could be meant, none."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import pytest
from maple_daemon.learn.lineages import Learned, Standing
from maple_daemon.store.protocol import Known
from maple_submit_filter.host.frames import Request

from tests.daemon.serving import WRONG, request
from tests.daemon.store.jobs import version

CHANGE, OTHER = "c" * 32, "d" * 32
UID = os.getuid()


def learned(**more: Any) -> Learned:
    """One user's two lineages: of one a change was taken back, of the other it is good. *more*: of the first."""
    made = Learned(lambda: b"now")
    rows = [
        Known(UID, "train", CHANGE, 1.0, Standing("taken-back", "", "", "11").written()),
        Known(UID, "train", OTHER, 1.0, Standing("good", "13", "g").written()),
        Known(UID, "eval", CHANGE, 1.0, Standing("good", "12", "g").written()),
    ]
    told = {"path": "/job.sh", "name": "job.sh", "cwd": "/", "script_hash": hashlib.sha256(WRONG).hexdigest(), **more}
    versions = [
        version("v1", uid=UID, lineage="train", **told),
        version("v2", uid=UID, lineage="eval", path="/eval.sh", name="eval", cwd="/e", script_hash="e" * 64),
    ]
    made.learn(UID, rows, versions)
    return made


def asked(script: bytes = WRONG, **said: Any) -> Request:
    """A submission."""
    one = request(script)
    return one._replace(submission=one.submission._replace(**said))


def lineage(made: Learned, one: Request, uid: int = UID) -> str:
    """Which lineage it is taken for."""
    found = made.of(one, uid)
    if found is None:
        return ""
    assert found.revision == b"now"
    return "train" if found.taken_back.get(CHANGE) == "11" else "eval"


SUBMISSIONS = {
    "the same script": (asked(), "train"),
    "the same script elsewhere": (asked(path=b"other.sh", cwd=b"/x"), "train"),
    "the path": (asked(WRONG + b"# edited\n"), "train"),
    "the path, another name": (asked(WRONG.replace(b"#SBATCH", b"#SBATCH -J other\n#SBATCH", 1)), ""),
    "the path, another name in words": (asked(WRONG + b"\n", argv=(b"sbatch", b"-Jother", b"job.sh")), ""),
    "name and folder": (asked(b"#!/bin/sh\n#SBATCH -J eval\ntrue\n", cwd=b"/e", path=b"n.sh"), "eval"),
    "a name nobody gave": (asked(b"true\n", came="wrap", path=b"", cwd=b"/e"), ""),
    "another path": (asked(WRONG + b"\n", path=b"copy.sh"), ""),
    "another scheduler": (asked(scheduler="pbs"), ""),
}  # fmt: skip


@pytest.mark.parametrize("one, wanted", SUBMISSIONS.values(), ids=SUBMISSIONS)
def test_the_lineage(one: Request, wanted: str) -> None:
    """As versions tell it, but for similarity."""
    assert lineage(learned(), one) == wanted


def test_another_user_has_none() -> None:
    """With the very same submission."""
    assert learned().of(asked(), UID + 1) is None


def test_a_mistake_of_ours_costs_what_was_learnt_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised."""

    def fails(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("maple_daemon.learn.lineages.place_of", fails)
    assert learned().of(asked(WRONG + b"# edited\n"), UID) is None


def test_where_two_lineages_show_the_same_none_is_meant() -> None:
    """By path; a new version of another lineage makes it so."""
    made, edited = learned(), asked(WRONG + b"# edited\n")
    made.version(version("v3", uid=UID, lineage="third", path="/job.sh", name="job.sh", script_hash="f" * 64))
    assert lineage(made, edited) == "" and lineage(made, asked()) == "train"
    made.version(version("v4", uid=UID + 1, lineage="third"))
    assert len(made) == 1


@pytest.mark.parametrize("more", [b"# x\n" * 200, b"echo " + b"x" * 20_000], ids=["lines", "bytes"])
def test_of_a_long_script_only_what_was_taken_back_counts(more: bytes) -> None:
    """Reading its name would hold others up; by its path a change is left out, and none made."""
    found = learned().of(asked(WRONG + more), UID)
    assert found is not None and found.taken_back == {CHANGE: "11"} and not found.good
    assert learned().of(asked(WRONG + more, path=b"other.sh"), UID) is None


def test_what_is_learnt_anew_takes_the_place_of_what_was_known() -> None:
    """And after a purge there is nothing."""
    made = learned()
    row = Known(UID, "train", CHANGE, 2.0, Standing("cleared", "14", "g", "11").written())
    assert made.is_new(row)
    made.learn(UID, [row], [])
    assert not made.is_new(row)
    found = made.of(asked(), UID)
    assert found is not None and found.good[CHANGE].job == "14" and not found.taken_back
    made.clear()
    assert made.of(asked(), UID) is None
