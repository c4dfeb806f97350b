"""What holds of any libpbs: of the double, and of the real one that MAPLE_TEST_LIBPBS names (its server must be up)."""

from __future__ import annotations

import threading

import pytest
from maple_agents.ask.schedulers import JobState, MisuseError, SchedulerError
from maple_agents.ask.schedulers.pbs.ifl import Connection
from maple_agents.ask.schedulers.pbs.libpbs import Pbs
from maple_agents.ask.schedulers.pbs.library import Attribute

NO_JOB = "999999999"


def test_server_queues_and_nodes_answer(any_libpbs):
    pbs = Pbs(any_libpbs)
    assert pbs.server().version
    assert all(queue.name for queue in pbs.queues()) and pbs.queues()
    assert all(node.states for node in pbs.nodes()) and pbs.nodes()


def test_a_job_that_never_was_is_a_value_to_the_adapter_and_15001_to_the_binding(any_libpbs):
    pbs = Pbs(any_libpbs)
    assert pbs.jobs([NO_JOB])[NO_JOB].state is JobState.VANISHED
    assert pbs.cancel(NO_JOB) is False and pbs.signal(NO_JOB, "TERM") is False
    with Connection(any_libpbs) as connection:
        for failing in (lambda: connection.statjob(NO_JOB), lambda: connection.deljob(NO_JOB)):
            with pytest.raises(SchedulerError) as caught:
                failing()
            assert caught.value.code == 15001


def test_no_jobs_is_an_empty_answer(any_libpbs):
    with Connection(any_libpbs) as connection:
        assert connection.selstat([Attribute("User_List", "", "nobody-is-called-so")]) == []


def test_a_word_that_is_no_id_is_taken_for_a_queue(any_libpbs):
    with Connection(any_libpbs) as connection, pytest.raises(SchedulerError) as caught:
        connection.statjob("no-queue-is-called-so")
    assert caught.value.code == 15018


def test_an_unknown_host_is_15008(any_libpbs):
    with pytest.raises(SchedulerError) as caught:
        Connection(any_libpbs, "nowhere.invalid")
    assert caught.value.code == 15008


def test_each_thread_has_an_error_number_of_its_own(any_libpbs):
    any_libpbs.errno()[0] = 15001
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(any_libpbs.errno()[0]))
    thread.start()
    thread.join(10)
    assert seen == [0] and any_libpbs.errno()[0] == 15001


def test_threads_with_connections_of_their_own_do_not_disturb_each_other(any_libpbs):
    wrong: list[object] = []

    def ask() -> None:
        with Connection(any_libpbs) as connection:
            for _ in range(10):
                if not connection.statserver():
                    wrong.append("no server")
                try:
                    wrong.append(connection.statjob(NO_JOB))
                except SchedulerError as error:
                    if error.code != 15001:
                        wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_a_closed_connection_is_never_handed_to_the_library(any_libpbs):
    connection = Connection(any_libpbs)
    connection.close()
    with pytest.raises(MisuseError):
        connection.deljob(NO_JOB)
