"""A job whose files are as they were is read by nobody, also while another one's files are read."""

from __future__ import annotations

from maple_daemon.base.settings import Bounds

from tests.daemon.test_readings import Place


def test_a_process_that_comes_back_for_more_is_given_no_known_job() -> None:
    """Its front looks at the files; only where one has changed somebody is to read."""
    place = Place()
    place.read(b"known")
    place.wish(b"other")
    assert place.take(1, place.last[1]) == place.last[1]
    assert place.wish(b"known") is not None
    assert place.take() is None
    changed = place.last[1]
    assert place.take(1, changed) == changed


def test_a_changed_job_is_read_by_the_process_that_runs() -> None:
    """The one that its own front has started says so, because there is to be one at a time."""
    place = Place()
    place.read(b"known")
    place.wish(b"known")
    changed = place.last[1]
    place.readings.later(2, changed)
    assert place.take() is None
    place.readings.later(1, changed)
    place.readings.later(1, "absent")
    assert [place.take(), place.take()] == [changed, None]


def test_of_equal_submissions_the_last_one_waits_for_all() -> None:
    """They lead to the same files: what is read is how these are now. Of others each waits."""
    place = Place(bounds=Bounds(rate=1000, burst=1000))
    place.wish(b"first")
    place.take(1, place.last[1])
    for _ in range(50):
        place.wish(b"equal")
        equal = place.last[1]
        place.now += 0.01
        place.readings._tried.clear()
    place.wish(b"another")
    assert [place.take(), place.take(), place.take()] == [equal, place.last[1], None]
