"""A history played again: the same jobs in every row, no user named, a page that needs nothing from elsewhere."""

from __future__ import annotations

import json
import re

import pytest
from maple_agents.forecast.replay import play, shortened
from maple_agents.forecast.runs import Asked, Run, Work
from maple_agents.scheduling.queueing.jobs import TooLarge
from maple_agents.scheduling.replay import NothingToReplay, page, replay

from tests.agents.forecast import eagle


@pytest.fixture(scope="module")
def done():
    return replay(eagle.runs(), pool=400)


def test_every_row_holds_all_jobs(done):
    """A thousand jobs of Eagle, by nodes; the classes of a row hold each job once."""
    assert (done["unit"], done["jobs"], done["left_out"]) == ("nodes", 1000, 0)
    assert [row["policy"] for row in done["policies"]] == ["fifo", "easy", "size-only", "control", "forecast", "oracle"]
    for row in (done["recorded"], *done["policies"]):
        for groups in (row["sizes"], row["users"]):
            assert sum(figures["jobs"] for figures in groups.values()) == row["jobs"] == 1000


def test_backfill_waits_less_than_none_and_knowledge_less_than_its_control(done):
    """What the orderings are known for, on real jobs."""
    wait = {row["policy"]: row["wait"] for row in done["policies"]}
    assert wait["easy"] <= wait["fifo"] and max(wait["oracle"], wait["forecast"]) < min(
        wait["size-only"], wait["control"]
    )


def test_limit_rules_are_those_of_the_forecasts_replay(done):
    """The same rule on the same history: 370 jobs shortened and 24 of them killed at 1.5."""
    played = list(play(eagle.runs()))
    for limit in done["limits"]:
        other = shortened(played, limit["factor"])
        assert (limit["changed"], limit["killed"]) == (other.changed, other.killed)
        assert (limit["asked_before"], limit["asked_after"]) == (other.asked_before, other.asked_after)
    assert [(limit["changed"], limit["killed"]) for limit in done["limits"] if limit["factor"] == 1.5] == [(370, 24)]


def test_nobody_is_named(done):
    """Users are groups by how often they submit, on the page and in the values."""
    users = {run.asked.user for run in eagle.runs()}
    text = page(done, "jobs.txt") + repr(done)
    assert not any(user in text for user in users) and "100 jobs or more" in text


def test_the_page_is_whole_by_itself(done):
    """It loads nothing, runs nothing, and shows its source as text."""
    text = page(done, "<b>jobs</b>.txt")
    assert "&lt;b&gt;jobs" in text and "<b>" not in text
    assert not re.search(r"<script|<link|src=|@import|url\(|https?:", text)
    assert text.count("<table>") == 4 and all(row["policy"] in text for row in done["policies"])


def test_the_pool_is_the_most_at_one_time():
    """Two jobs of three nodes overlap, the third comes after: six."""
    runs = [_run("1", 0, 10, 3), _run("2", 5, 10, 3), _run("3", 20, 5, 4)]
    assert replay(runs)["pool"] == 6


def test_jobs_without_a_size_are_left_out_and_counted():
    """And a file of such jobs alone is refused in a line."""
    runs = [_run("1", 0, 10, 3), _run("2", 0, 10, None), _run("3", 0, 0, 2)]
    assert (replay(runs)["jobs"], replay(runs)["left_out"]) == (1, 2)
    with pytest.raises(NothingToReplay, match="no job of the file ran on any nodes"):
        replay([_run("2", 0, 10, None)])
    with pytest.raises(TooLarge, match="wants 3, and the pool has 2"):
        replay(runs, pool=2)


def test_as_json_it_is_the_same(done):
    """The shape that programs read is the one that the page is made of."""
    from maple_agents.base.output import plain

    assert json.loads(json.dumps(plain(done))) == done


def _run(job: str, start: float, seconds: float, nodes: int | None) -> Run:
    asked = Asked("ann", "train", "", start, 100.0, None, "", Work((), nodes))
    return Run(job, asked, start + seconds, seconds, "completed")
