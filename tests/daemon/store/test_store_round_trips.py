"""Whatever is kept comes back as it was."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store
from maple_submit_filter.types.job_records import STATES, Outcome, Part, Record, Value, Version

TEXT = some.one_of(
    some.text(max_size=30), some.binary(max_size=30).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)
NUMBER = some.integers(-(2**31), 2**31)
TIME = some.floats(0, 1e11, allow_nan=False)
PARTS = some.lists(some.builds(Part, TEXT, TEXT, TEXT, some.tuples(NUMBER, NUMBER)), max_size=3).map(tuple)
HASH = some.text("0123456789abcdef", min_size=8, max_size=64)
VALUES = some.lists(some.builds(Value, TEXT, TEXT, TEXT, NUMBER, HASH, TEXT), max_size=4).map(tuple)
WORDS = some.lists(TEXT, max_size=5).map(tuple)
VERSIONS = some.builds(
    Version, HASH, HASH, TEXT, some.just(0), TIME, TEXT, TEXT, TEXT, TEXT, WORDS, some.binary(max_size=200), TEXT,
    PARTS, VALUES,
)  # fmt: skip
OUTCOMES = some.builds(
    Outcome, HASH, some.sampled_from(STATES), some.just(0), TEXT, some.none() | NUMBER, some.none() | NUMBER, TEXT,
    some.none() | TIME, some.none() | TIME, some.none() | TIME, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT,
)  # fmt: skip
RECORDS = some.builds(
    Record, HASH, HASH, some.just(0), TIME, TEXT, NUMBER, NUMBER, TEXT, TEXT, WORDS, TEXT, TEXT, some.just(""), TEXT,
    some.none(), reached=some.none(),  # kept by itself: `keep_reached`
)  # fmt: skip
USERS = itertools.count(1)  # one for each example, so that all have one store
few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that all examples share."""
    if request.param == "sqlite":
        named = str(tmp_path_factory.mktemp("store") / "memory.db")
    else:
        named = request.getfixturevalue("server").fresh()
    made = open_store(named)
    yield made
    made.close()


@few
@given(VERSIONS)
def test_a_version(store: Store, one: Version) -> None:
    """With every text that a file name or an argument may be."""
    mine = one._replace(uid=next(USERS))
    store.keep_version(mine)
    assert store.versions(mine.uid) == [mine] == store.versions(mine.uid, mine.lineage)


@few
@given(RECORDS, OUTCOMES)
def test_a_record_and_its_outcome(store: Store, one: Record, end: Outcome) -> None:
    """Joined, with the outcome that came before."""
    mine = one._replace(uid=next(USERS))
    end = end._replace(uid=mine.uid)
    store.keep_outcomes([end])
    store.keep_record(mine)
    assert store.records(mine.uid) == [mine]
    assert store.join(mine.id, mine.uid, end.job, "filter")
    assert store.records(mine.uid, mine.version, end.job) == [mine._replace(job=end.job, joined="filter", outcome=end)]


@few
@given(some.binary(min_size=1, max_size=64), some.binary(max_size=4000))
def test_a_decision(store: Store, key: bytes, learnt: bytes) -> None:
    """Any bytes under any key."""
    uid = next(USERS)
    store.keep_decision(b"%d:" % uid + key, uid, learnt, 0.0)
    assert store.decision(b"%d:" % uid + key, uid) == learnt
