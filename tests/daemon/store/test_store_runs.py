"""What jobs asked for and used: once for each job, for its user alone; sums for administrators."""

from __future__ import annotations

from maple_agents.forecast.runs import Asked, Run, Work
from maple_daemon.store.protocol import NOBODY, Caps, Store

NOW = 1e9
GIB = 1 << 30


def run(job: str = "17", at: float = NOW, state: str = "completed", name: str = "sft", **more: object) -> Run:
    """A run that ended at *at*."""
    asked = Asked("", name, "/work/a", at - 700, 43200.0, 64 * GIB, "ab" * 32, Work((), 2, 8))
    return Run(job, asked._replace(**more), at, 600.0, state, 40 * GIB, 30 * GIB, 87.5)  # type: ignore[arg-type]


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    """With all that was asked for and used."""
    assert store.keep_runs([(1001, run())]) == 1
    assert store.runs(1001) == [run()] == store.runs(1001, "sft")
    assert store.runs(1001, "other") == []


def test_what_one_teller_does_not_know_stays_as_another_told_it(store: Store) -> None:
    """The hook knows the script and the limit, the accounting the memory; told twice it is one run."""
    of_hook = run(state="failed")._replace(memory=None, gpu_memory=None, gpu_use=None)
    of_accounting = run(version="", folder="", limit=None)
    for told in (of_hook, of_accounting, of_accounting):
        store.keep_runs([(1001, told)])
    assert store.runs(1001) == [run()]


def test_runs_come_newest_first_and_no_more_than_asked(store: Store) -> None:
    """Of one name, or of all."""
    store.keep_runs([(1001, run(str(at), NOW + at, name="ab"[at % 2])) for at in range(6)])
    assert [one.job for one in store.runs(1001, limit=3)] == ["5", "4", "3"]
    assert [one.job for one in store.runs(1001, "a")] == ["4", "2", "0"]


def test_nobody_is_told_of_another_nor_of_users_that_are_not_known_here(store: Store) -> None:
    """Though they have the same job ids; and a purge takes one's own alone."""
    store.keep_runs([(1001, run()), (1002, run(name="x")), (NOBODY, run(user="ann")), (NOBODY, run(user="bo"))])
    assert store.runs(1002) == [run(name="x")]
    assert store.runs(NOBODY) == [] == store.runs(1003)
    store.purge(NOW, Caps(), uid=1002)
    assert store.runs(1002) == [] and store.runs(1001) == [run()]


def test_sums_have_no_user_and_none_of_two_alone(store: Store) -> None:
    """Three have in common that jobs completed; one alone ran out of time."""
    store.keep_runs([(uid, run()) for uid in (1001, 1002)])
    assert store.run_sums() == []
    store.keep_runs([(NOBODY, run(user="ann")), (1001, run("18", state="timeout"))])
    (found,) = store.run_sums()
    assert (found.state, found.users, found.jobs) == ("completed", 3, 3)
    assert (round(found.asked_hours), round(found.hours)) == (72, 1)


def test_what_is_too_old_goes(store: Store) -> None:
    """As all else does."""
    store.keep_runs([(1001, run()), (1001, run("18", NOW - 200 * 86400))])
    store.purge(NOW, Caps())
    assert [one.job for one in store.runs(1001)] == ["17"]


def test_one_without_a_form_costs_no_other_its_place(store: Store) -> None:
    """A name with half of a pair is no text."""
    assert store.keep_runs([(1001, run(name="\ud800")), (1001, run("18"))]) == 1
    assert [one.job for one in store.runs(1001)] == ["18"]
