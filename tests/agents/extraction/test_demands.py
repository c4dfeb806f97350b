"""What is asked for besides, in whatever words: the script has it, or it is told, or asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.extraction.demands import KINDS, PLACES, probes
from tests.agents.extraction.test_accounted import REST, answered

COUNT, SEED = 2, 9


@pytest.mark.parametrize("kind", KINDS)
def test_no_demand_is_lost(kind: str, tmp_path: Path) -> None:
    """A small seeded sample; `make bench-demands` counts many more."""
    rows = list(probes(kind, COUNT, SEED, str(tmp_path)))
    assert len(rows) == COUNT
    assert [one.case["words"] for one in rows if one.is_silent] == []


@pytest.mark.parametrize(
    "part",
    [
        "closest gpu binding", "one job per config", "bis Montag", "haute priorité", "lokale ssd", "exklusiv",
        "as long as possible", "zonder gpu", "no GPU", "I need the node-local NVMe drives", "3 running at most",
        "a partir de tomorrow", "constraint skylake", "don't share the nodes",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [place for place in PLACES if "{D}" not in place and "Anna" not in place][::5])
def test_a_part_of_which_nothing_was_used_is_told(part, place, tmp_path):
    """Nobody has to know the word: what no reading touched is said again."""
    answer = answered(place.format(r=REST % "2 hours", d=part), str(tmp_path))
    told = " ".join(one["text"] for one in answer["unread"])
    assert not answer["script"] or part in told


@pytest.mark.parametrize(
    "part",
    [
        "Hi Tom", "Dear support team", "Guten Tag", "Merci d'avance", "Best regards\nAnna Example", "Thanks a lot",
        "谢谢", "no mail please", "ohne Conda", "rest unchanged", "one process per GPU", "2 nodes",
    ],
)  # fmt: skip
def test_talk_is_not_told(part, tmp_path):
    """Nor is what was denied and is not there, or stands in the script."""
    answer = answered("%s\n%s" % (REST % "2 hours", part), str(tmp_path))
    assert answer["script"]
    assert answer["unread"] == []
