"""`maple admin replay`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from maple_agents.base.complaint import Complaint
from maple_daemon.cli.history_replay import replay

from tests.json_shapes import fits

SWF = "; UnixStartTime: 1700000000\n" + "".join(
    "%d %d 0 %d %d -1 -1 %d 7200 -1 1 u1 1 p1 1 1 -1 -1\n" % (at, at * 60, 600 + at * 7, 1 + at % 4, 1 + at % 4)
    for at in range(40)
)


@pytest.fixture()
def log(tmp_path):
    path = tmp_path / "site.swf"
    path.write_text(SWF)
    return str(path)


def _asked(*words: str):
    return CliRunner().invoke(replay, list(words), standalone_mode=False)


def test_it_prints_orderings_and_limits(log):
    """A sentence, two tables, and what the figures do not hold."""
    came = _asked("--swf", log, "--pool", "6")
    assert came.exception is None
    assert "40 jobs of site.swf on 6 processors" in came.output
    for word in ("fifo", "easy", "oracle", "1.5 x the longest", "not modelled"):
        assert word in came.output


def test_json_is_one_object(log):
    """With figures by policy."""
    told = json.loads(_asked("--swf", log, "--json").output)
    fits("replay", told)
    assert told["unit"] == "processors" and {row["policy"] for row in told["policies"]} >= {"easy", "forecast"}


def test_the_page_is_written_once(log, tmp_path):
    """FILE must not exist; what is there is never written over."""
    target = tmp_path / "page.html"
    assert _asked("--swf", log, "--html", str(target)).exception is None
    first = target.read_text()
    assert first.startswith("<!doctype html>")
    again = _asked("--swf", log, "--html", str(target))
    assert isinstance(again.exception, Complaint) and target.read_text() == first


@pytest.mark.parametrize(
    "words", [(), ("--swf", "LOG", "--pbs", "LOG"), ("--pbs", "LOG"), ("--swf", "LOG", "--pool", "2")]
)
def test_what_cannot_be_played_is_said_in_a_line(words, log):
    """No file, two files, a file of another form, a pool that is too small."""
    came = _asked(*(log if word == "LOG" else word for word in words))
    assert isinstance(came.exception, Complaint) and "\n" not in str(came.exception)
