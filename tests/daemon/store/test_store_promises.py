"""What the store promises, of SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from maple_agents.forecast.runs import Asked, Run
from maple_daemon.store.protocol import Caps, Counted, Known, NotKept, Store
from maple_daemon.store.schema import KEYS
from maple_submit_filter.types.job_records import Outcome, Reached, Value

from tests.daemon.store.jobs import outcome, record, version

DAY = 86400.0
NOW = 1e9
OTHER = 1002


def filled(store: Store) -> None:
    """Something of everything that belongs to user 1001."""
    store.keep_version(version())
    store.keep_record(record(keys=(("MPL301", "launchers.srun"),)))
    store.join("r1", 1001, "17", "filter")
    store.keep_record(record("r2", at=NOW + 1))
    store.keep_outcomes([outcome()])
    store.keep_decision(b"key", 1001, b"learnt", NOW)
    assert store.settle(store.due()[0], "ran")
    assert store.keep_standing(Known(1001, "train", "c1", NOW, "{}"), "")
    assert store.keep_told("17", 1001, NOW)
    assert store.keep_runs([(1001, Run("17", Asked("", "train"), NOW, 60.0, "completed"))])
    assert store.keep_reached(1001, Reached("r1", "", NOW, 900.0, 1000, 0.0, 0.5, 800))
    assert store.keep_cause(1001, "17", "gpu_oom", NOW)


def told(store: Store, uid: int) -> list[object]:
    """All that a user can get."""
    found: list[object] = [store.decision(b"key", uid)] if store.decision(b"key", uid) else []
    found += store.versions(uid) + store.versions(uid, "train")
    found += [store.standing(uid, "train", "c1")] if store.standing(uid, "train", "c1") else []
    found += store.records(uid) + store.records(uid, job="17") + store.records(uid, version="v1")
    return found + store.unjoined(0, uid) + store.runs(uid) + store.unrecorded(uid)


def left(store: Store, uid: int) -> dict[str, int]:
    """How many rows each table holds of a user."""
    run = store._run  # type: ignore[attr-defined]
    return {table: run.rows("SELECT COUNT(*) FROM %s WHERE uid = ?" % table, (uid,))[0][0] for table in KEYS}


def test_ends_of_jobs_that_no_submission_became_are_their_owners(store: Store) -> None:
    """Those that were last first; one that is joined is none."""
    filled(store)
    store.keep_outcomes([outcome("18", ended=NOW), outcome("19", ended=NOW + 1), outcome("20", uid=OTHER, ended=NOW)])
    assert [end.job for end in store.unrecorded(1001)] == ["19", "18"]
    assert [end.job for end in store.unrecorded(OTHER)] == ["20"] and store.unrecorded(7) == []
    assert [end.job for end in store.unrecorded(1001, 1)] == ["19"]


def test_another_user_gets_nothing_and_changes_nothing(store: Store) -> None:
    """By no method, with all keys known to him."""
    filled(store)
    before = told(store, 1001)
    assert len(before) == 11
    assert told(store, OTHER) == []
    store.keep_decision(b"key", OTHER, b"forged", NOW)
    store.keep_version(version(uid=OTHER, name="forged", values=()))
    assert not store.renew_version(version("v2", uid=OTHER))
    assert not store.join("r2", OTHER, "18", "filter")
    assert not store.move_record("r2", OTHER, "v2")
    assert not store.keep_reached(OTHER, Reached("r1", "", NOW, 1.0))
    store.keep_outcomes([outcome(uid=OTHER, state="failed")])
    assert not store.keep_standing(Known(OTHER, "train", "c1", NOW, "forged"), "{}")
    assert told(store, 1001) == before
    store.purge(NOW, Caps(), uid=OTHER)
    assert told(store, 1001) == before


def test_a_decision_is_kept_and_renewed(store: Store) -> None:
    """The later one stands; any byte comes back."""
    assert store.decision(b"\0\xff", 1) is None
    for learnt in (bytes(range(256)), b""):
        store.keep_decision(b"\0\xff", 1, learnt, NOW)
        assert store.decision(b"\0\xff", 1) == learnt


def test_a_version_comes_back_as_it_was_and_is_not_overwritten(store: Store) -> None:
    """Script bytes, masked words, parts and values; the first of an id stays unless it is renewed."""
    first = version(script=bytes(range(256)) * 9, argv=("sbatch", "--export=KEY=***", "caf\udce9.sh"))
    store.keep_version(first)
    store.keep_version(version(name="other"))
    assert store.versions(1001) == [first]
    renewed = first._replace(values=(Value("framework", "pytorch", "train.py", 1, "p3", "program"),))
    assert store.renew_version(renewed)
    assert store.versions(1001) == [renewed]


def test_versions_come_newest_first_by_lineage_and_no_more_than_asked(store: Store) -> None:
    """Also those of the same instant have an order."""
    for number in range(6):
        store.keep_version(version("v%d" % number, at=NOW + number // 2, lineage="ab"[number % 2]))
    assert [one.id for one in store.versions(1001)] == ["v4", "v5", "v2", "v3", "v0", "v1"]
    assert [one.id for one in store.versions(1001, "a", limit=2)] == ["v4", "v2"]


def test_a_record_is_joined_once_and_to_a_job_of_its_own(store: Store) -> None:
    """The first word stands; a second record cannot have the same job."""
    for name in ("r1", "r2"):
        store.keep_record(record(name))
    assert [one.id for one in store.unjoined(NOW)] == ["r1", "r2"]
    assert store.unjoined(NOW + 1) == []
    assert store.join("r1", 1001, "17", "filter")
    assert not store.join("r1", 1001, "18", "times")
    assert not store.join("r2", 1001, "17", "times")
    assert not store.join("r2", 1001, "", "times")
    assert not store.join("none", 1001, "19", "times")
    assert [(one.job, one.joined) for one in store.records(1001, job="17")] == [("17", "filter")]
    assert [one.id for one in store.unjoined(0)] == ["r2"]


def test_a_job_of_pbs_is_found_without_its_server(store: Store) -> None:
    """And no other one whose id begins so."""
    for name, job in (("r1", "14.pbs01"), ("r2", "141.pbs01"), ("r3", "141[].pbs01"), ("r4", "141"), ("r5", "1%1.x")):
        store.keep_record(record(name))
        assert store.join(name, 1001, job, "filter")
    found = {
        job: [one.id for one in store.records(1001, job=job, server=False)] for job in ("14", "141", "141[]", "1_1")
    }
    assert found == {"14": ["r1"], "141": ["r2"], "141[]": ["r3"], "1_1": []}
    assert store.records(OTHER, job="141", server=False) == []


def test_a_record_that_is_moved_keeps_its_job(store: Store) -> None:
    """Another version, everything else as it was."""
    store.keep_record(record())
    store.join("r1", 1001, "17", "filter")
    assert store.move_record("r1", 1001, "v2")
    assert store.records(1001, version="v2") == [record(version="v2", job="17", joined="filter")]
    assert store.records(1001, version="v1") == []


def test_submissions_whose_job_is_known_are_the_newest_of_everybody(store: Store) -> None:
    """For the service itself, which sees by them whether a host's hook tells of jobs."""
    for number, uid in enumerate((1001, 1002, 1003)):
        store.keep_record(record(f"r{number}", uid=uid, at=NOW + number))
        if uid != 1002:
            store.join(f"r{number}", uid, str(number), "filter")
    assert [one.id for one in store.joined()] == ["r2", "r0"] and [one.id for one in store.joined(1)] == ["r2"]


def test_an_outcome_may_come_before_its_record(store: Store) -> None:
    """It waits for the join; until then it is nobody's."""
    assert store.keep_outcomes([outcome(exit_code=0, ended=NOW)]) == 1
    store.keep_record(record())
    assert store.records(1001)[0].outcome is None
    store.join("r1", 1001, "17", "record")
    assert store.records(1001)[0].outcome == outcome(exit_code=0, ended=NOW)
    assert store.unended() == []


def test_a_later_word_about_a_job_stands(store: Store) -> None:
    """New ones are counted once, also within one batch."""
    batch = [outcome(state="running"), outcome(state="failed", signal=9), outcome("18")]
    assert store.keep_outcomes(batch) == 2
    assert store.keep_outcomes([outcome(state="timeout"), outcome("19")]) == 1
    store.keep_record(record())
    store.join("r1", 1001, "17", "times")
    assert store.records(1001)[0].outcome == Outcome("17", "timeout", 1001, "hook")
    assert store.keep_outcomes([]) == 0


@pytest.mark.parametrize("state, ended", [("running", False), ("requeued", False), ("failed", True), ("unknown", True)])
def test_a_job_that_goes_on_has_not_ended(store: Store, state: str, ended: bool) -> None:
    """It is asked about again."""
    store.keep_record(record())
    assert store.unended() == []
    store.join("r1", 1001, "17", "times")
    assert [one.id for one in store.unended()] == ["r1"]
    store.keep_outcomes([outcome(state=state)])
    assert (store.unended() == []) is ended
    store.keep_outcomes([outcome(state="running")])  # it was requeued
    assert [one.id for one in store.unended()] == ["r1"]


def test_counts_add_up_and_name_nobody(store: Store) -> None:
    """By day, rule, partition, verdict and state."""
    one = Counted("2026-03-01", "MPL301", "gpu", "repaired", "completed", 2)
    store.count([one, one])
    store.count([one._replace(day="2026-03-02", jobs=5)])
    assert store.counted() == [one._replace(jobs=4), one._replace(day="2026-03-02", jobs=5)]
    assert [row.jobs for row in store.counted("2026-03-02")] == [5]
    assert "uid" not in Counted._fields


def test_a_user_who_is_purged_leaves_no_row_in_any_table(store: Store) -> None:
    """Nor does anything of others go."""
    filled(store)
    store.keep_version(version(uid=OTHER))
    store.keep_decision(b"theirs", OTHER, b"x", NOW)
    assert all(left(store, 1001).values())
    gone = store.purge(NOW, Caps(), uid=1001)
    assert gone == (1, 2, 1)
    assert not any(left(store, 1001).values())
    assert told(store, 1001) == []
    assert store.versions(OTHER) and store.decision(b"theirs", OTHER) == b"x"


def test_what_is_too_old_goes_and_a_version_lives_as_long_as_its_submissions(store: Store) -> None:
    """A job that is submitted daily for years keeps its first version."""
    for number, at in enumerate((NOW - 200 * DAY, NOW - 200 * DAY, NOW)):
        store.keep_version(version("v%d" % number, at=at))
        store.keep_record(record("old%d" % number, at=at, version="v%d" % number))
        store.keep_decision(b"%d" % number, 1001, b"x", at)
        store.keep_outcomes([outcome(str(number), ended=at)])
    store.keep_record(record("late", at=NOW - DAY, version="v1"))
    assert store.purge(NOW, Caps(days=180)) == (1, 2, 2)
    assert [one.id for one in store.versions(1001)] == ["v2", "v1"]
    assert left(store, 1001)["outcomes"] == 1


def test_a_user_keeps_no_more_than_his_share_the_newest(store: Store) -> None:
    """Also where many came in one instant; others lose nothing."""
    for number in range(7):
        store.keep_version(version("v%d" % number, at=NOW))
        store.keep_record(record("r%d" % number, at=NOW + number))
    store.keep_version(version(uid=OTHER, at=1.0))
    gone = store.purge(NOW, Caps(days=100_000, versions_of_user=3, records_of_user=2))
    assert gone == (4, 5, 0)
    assert len(store.versions(1001)) == 3 and len(store.versions(OTHER)) == 1
    assert [one.id for one in store.records(1001)] == ["r6", "r5"]


def test_a_store_that_is_too_large_loses_the_oldest_and_no_more_than_it_must(store: Store) -> None:
    """The whole stays below the cap, and most of what fits stays."""
    for number in range(300):
        store.keep_decision(b"%d" % number, 1001, bytes([number % 256]) * 4000, NOW + number)
    run = store._run  # type: ignore[attr-defined]
    before = run.size()
    gone = store.purge(NOW, Caps(bytes=before // 2))
    assert run.size() <= before // 2
    assert 120 <= gone.decisions <= 200
    assert store.decision(b"299", 1001) and not store.decision(b"0", 1001)


def test_what_is_older_than_the_clock_is_left_when_it_jumps_back(store: Store) -> None:
    """Nothing is lost by it."""
    filled(store)
    before = told(store, 1001)
    store.purge(0.0, Caps())
    store.purge(-1e9, Caps())
    assert told(store, 1001) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.keep_version(version(lineage="caf\udce9")),
        lambda store: store.keep_version(version(at=float("nan"), uid=1 << 70)),
        lambda store: store.keep_decision(b"k", 1 << 70, b"", NOW),
    ],
)
def test_a_thing_that_has_no_form_in_the_store_is_refused_whole_and_the_store_is_well(
    store: Store, change: Callable[[Store], object]
) -> None:
    """One line, and nothing of it is kept."""
    filled(store)
    before = told(store, 1001)
    with pytest.raises(NotKept) as failed:
        change(store)
    assert "\n" not in str(failed.value)
    assert told(store, 1001) == before and store.check() == []
    assert left(store, 1001)["outcomes"] == 1


def test_an_outcome_that_has_no_form_in_the_store_costs_the_others_nothing(store: Store) -> None:
    """An event may hold any text."""
    batch = [outcome("19"), outcome("1\udce9"), outcome("x", uid=1 << 70), outcome("20", workdir="\0\udce9")]
    assert store.keep_outcomes(batch) == 2
    assert store.keep_outcomes(batch) == 0
    for job in ("19", "20"):
        store.keep_record(record(job))
        assert store.join(job, 1001, job, "times")
    assert store.unended() == []


def test_a_row_that_cannot_be_read_back_is_left_out(store: Store) -> None:
    """A script cut short, JSON of another shape."""
    filled(store)
    store.keep_version(version("v2"))
    run = store._run  # type: ignore[attr-defined]
    from maple_daemon.store.rows import Change

    run.change(Change("UPDATE versions SET script = ? WHERE id = 'v2'", [(b"\x78\x9c\x03",)]))
    run.change(Change("UPDATE records SET told = ? WHERE id = 'r2'", [("[]",)]))
    assert [one.id for one in store.versions(1001)] == ["v1"]
    assert [one.id for one in store.records(1001)] == ["r1"]


def test_two_see_each_others_changes_at_once(opened: Callable[[], Store]) -> None:
    """As reader and writer of a daemon do, or the daemons of two login nodes."""
    one, other = opened(), opened()
    filled(one)
    assert told(other, 1001) == told(one, 1001)
    assert not other.join("r1", 1001, "18", "times") and not other.join("r2", 1001, "17", "times")


def test_a_store_without_its_tables_is_told_of(store: Store) -> None:
    """By `check`."""
    assert store.check() == []
    from maple_daemon.store.rows import Change

    store._run.change(Change("DROP TABLE counts", [()]))  # type: ignore[attr-defined]
    assert len(store.check()) == 1 and "counts" in store.check()[0]


def test_who_was_told_is_remembered_once_and_ends_come_with_their_time(store: Store) -> None:
    """The newest first, in the states that are asked for; the time when it was heard stands for one nobody told."""
    assert store.keep_told("17", 1001, NOW) and not store.keep_told("17", 1001, NOW + 9)
    assert store.keep_told("17", OTHER, NOW + 2)
    assert store.notices(NOW) == [("17", 1001, NOW), ("17", OTHER, NOW + 2)] and store.notices(NOW + 3) == []
    store.keep_outcomes(
        [
            outcome(job="1", state="failed", ended=NOW - 5),
            outcome(job="2", state="timeout", ended=None),
            outcome(job="3", state="completed", ended=NOW),
        ]
    )
    found = store.ended(("failed", "timeout"), NOW - 9, 9)
    assert {one.job for one in found} == {"1", "2"} and store.ended(("failed",), NOW, 9) == []
    assert all(one.ended for one in found)
    assert next(one for one in found if one.job == "2").started is None
    assert len(store.ended(("failed", "timeout"), 0, 1)) == 1


def test_how_far_a_run_came_is_kept_with_its_version(store: Store) -> None:
    """A later word stands in place of an earlier one; a submission that became no job came nowhere."""
    filled(store)
    (first,) = store.records(1001, job="17")
    assert first.reached == Reached("r1", "v1", NOW, 900.0, 1000, 0.0, 0.5, 800)
    assert store.keep_reached(1001, Reached("r1", "", NOW + 5, 1000.0, 1000))
    (again,) = store.records(1001, job="17")
    assert again.reached == Reached("r1", "v1", NOW + 5, 1000.0, 1000) and again.outcome == first.outcome
    assert not store.keep_reached(1001, Reached("r2", "", NOW, 1.0))
    assert not store.keep_reached(1001, Reached("none", "", NOW, 1.0))


def test_a_class_is_kept_of_a_job_that_is_known(store: Store) -> None:
    """A later word stands; of another's job, or of one that nobody heard of, nothing is kept."""
    filled(store)
    store.keep_record(record("r7", at=NOW + 2))
    store.join("r7", 1001, "141.pbs01", "filter")
    assert store.keep_cause(1001, "17", "host_oom", NOW + 5) and store.keep_cause(
        1001, "141", "disk_quota_or_full", NOW
    )
    assert not any(store.keep_cause(uid, job, "gpu_oom", NOW) for uid, job in ((OTHER, "17"), (1001, "18"), (1001, "")))
    assert store.causes(NOW) == {("17", 1001): "host_oom", ("141.pbs01", 1001): "disk_quota_or_full"}
    assert store.causes(NOW + 1) == {("17", 1001): "host_oom"}
