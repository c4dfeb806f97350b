"""The binding of libpbs against the double: what each call returns, frees, and says when it fails."""

from __future__ import annotations

import gc
import os
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maple_agents.ask.schedulers import MisuseError, SchedulerError
from maple_agents.ask.schedulers.pbs.ifl import Connection, Pool
from maple_agents.ask.schedulers.pbs.library import Attribute, Library, find

from tests.doubles.libpbs import Scenario, build

RUNNING = {"job_state": "R", "substate": "42", "Job_Owner": "alice@pbs01"}
OVER = {"job_state": "F", "substate": "92", "Exit_status": "0", "Job_Owner": "alice@pbs01"}


def live(library: Library) -> int:
    """Return how many lists the double has handed out and not got back."""
    count: int = library.functions.double_live()
    return count


def test_a_job_comes_with_every_value_as_text_and_its_list_goes_back(libpbs):
    awkward = {
        "Variable_List": "A=007,B=1e5,C=true,D=[1]",
        "comment": 'tab\there, "quoted", back\\slash\nsecond line',
        "Job_Name": "caf\udce9",
        "Resource_List.walltime": "01:00:00",
        "Submit_arguments": "<jsdl-hpcpa:Argument>-N</jsdl-hpcpa:Argument>",
    }
    library = libpbs(Scenario().job("30.pbs01", awkward))
    with Connection(library) as connection:
        (job,) = connection.statjob("30")
        assert (job.name, job.values()) == ("30.pbs01", awkward)
        assert live(library) == 0


def test_a_comma_list_leaves_unknown_jobs_out_and_is_no_error(libpbs):
    library = libpbs(Scenario().job("30.pbs01", RUNNING).job("31.pbs01", RUNNING))
    with Connection(library) as connection:
        assert [job.name for job in connection.statjob("30,99,31.pbs01", "x")] == ["30.pbs01", "31.pbs01"]


@pytest.mark.parametrize(
    ("ids", "code", "text"),
    [("99", 15001, "Unknown Job Id"), ("30", 15139, "Job has finished"), ("workq", 15018, "Unknown queue")],
)
def test_an_id_that_cannot_be_shown_has_number_and_text(libpbs, ids, code, text):
    with Connection(libpbs(Scenario().job("30.pbs01", OVER))) as connection:
        with pytest.raises(SchedulerError) as caught:
            connection.statjob(ids)
        assert (caught.value.code, caught.value.text) == (code, text)


def test_a_finished_job_is_there_with_the_history_flag(libpbs):
    with Connection(libpbs(Scenario().job("30.pbs01", OVER))) as connection:
        assert [job.name for job in connection.statjob("30", "x")] == ["30.pbs01"]


def test_nothing_with_number_0_is_an_empty_answer(libpbs):
    with Connection(libpbs(Scenario())) as connection:
        assert connection.statjob("") == []
        assert connection.selstat([Attribute("User_List", "", "alice")]) == []
        assert connection.statnode() == []


def test_owners_are_selected_by_user_list_and_job_owner_selects_nobody(libpbs):
    scenario = Scenario().job("1.pbs01", RUNNING).job("2.pbs01", {**RUNNING, "Job_Owner": "bob@pbs01"})
    with Connection(libpbs(scenario)) as connection:
        assert [job.name for job in connection.selstat([Attribute("User_List", "", "alice")])] == ["1.pbs01"]
        assert connection.selstat([Attribute("Job_Owner", "", "alice")]) == []


def test_the_text_of_an_earlier_failure_is_never_shown(libpbs):
    """pbs_geterrmsg still says `Unknown Job Id` when deljob fails without a text, or a stat succeeds."""
    scenario = Scenario().job("30.pbs01", RUNNING).fault("sigjob", 0, result=15062)
    with Connection(libpbs(scenario)) as connection:
        with pytest.raises(SchedulerError):
            connection.statjob("99")
        assert connection.statjob("30")
        with pytest.raises(SchedulerError) as caught:
            connection.sigjob("30", "SIGTERM")
        assert caught.value.code == 15062
        assert "Unknown Job Id" not in str(caught.value)


def test_a_failure_without_a_text_gets_the_meaning_of_its_number(libpbs):
    with Connection(libpbs(Scenario())) as connection, pytest.raises(SchedulerError) as caught:
        connection.deljob("99")
    assert (caught.value.code, caught.value.text) == (15001, "Unknown Job Id")


def test_deljob_that_returns_0_and_sets_a_number_has_failed(libpbs):
    library = libpbs(Scenario().job("30.pbs01", RUNNING))
    with Connection(library) as connection:
        library.functions.pbs_disconnect(connection._number)  # as when the server closes it
        with pytest.raises(SchedulerError) as caught:
            connection.deljob("30")
    assert caught.value.code == 15031


def test_a_number_left_by_an_earlier_call_is_not_taken_for_a_failure(libpbs):
    library = libpbs(Scenario())
    with Connection(library) as connection:
        library.errno()[0] = 15001
        assert connection.statjob("") == []


def test_refused_attributes_are_named_with_their_own_number(libpbs):
    text = "Illegal attribute or resource value Resource_List.walltime"
    scenario = (
        Scenario()
        .job("30.pbs01", RUNNING)
        .fault("alterjob", 15010, result=15010)
        .refuse("Resource_List.walltime", "abc", 15014, text)
    )
    with Connection(libpbs(scenario)) as connection, pytest.raises(SchedulerError) as caught:
        connection.alterjob("30", [Attribute("Resource_List", "walltime", "abc")])
    assert (caught.value.code, caught.value.text) == (15014, text)


def test_changes_arrive_with_names_resources_values_and_operator(libpbs, calls):
    with Connection(libpbs(Scenario().job("30.pbs01", RUNNING))) as connection:
        connection.alterjob("30", [Attribute("Resource_List", "walltime", "10"), Attribute("Job_Name", "", "x")])
        connection.sigjob("30", "SIGUSR1")
        connection.deljob("30.pbs01")
    assert [line.split(maxsplit=3)[3] for line in calls() if line.split()[1] in ("alterjob", "sigjob", "deljob")] == [
        "30 Resource_List.walltime=10 op 0 Job_Name.=x op 0",
        "30 SIGUSR1",
        "30.pbs01",
    ]


@pytest.mark.parametrize(
    ("number", "word"), [(15008, "PBS_SERVER"), (15010, "is the PBS server up"), (-1, "pbs_iff")], ids=str
)
def test_a_server_that_cannot_be_reached_says_what_to_do(libpbs, number, word):
    with pytest.raises(SchedulerError, match=word) as caught:
        Connection(libpbs(Scenario().fault("connect", number, result=-1)))
    assert caught.value.code == number
    assert "\n" not in str(caught.value)


def test_what_the_library_itself_prints_is_left_alone(libpbs, capfd):
    """It writes to descriptor 2, which all threads share: to catch it would lose the words of others."""
    library = libpbs(Scenario().greet("auth: error returned: -1\n").fault("connect", -1, result=-1))
    with pytest.raises(SchedulerError):
        Connection(library)
    assert capfd.readouterr().err == "auth: error returned: -1\n"


def test_a_connection_refuses_any_thread_but_its_own(libpbs, calls):
    raised: list[BaseException] = []

    def intrude(connection: Connection) -> None:
        try:
            connection.statjob("30")
        except BaseException as error:
            raised.append(error)

    with Connection(libpbs(Scenario().job("30.pbs01", RUNNING))) as connection:
        thread = threading.Thread(target=intrude, args=(connection,))
        thread.start()
        thread.join(10)
    assert [type(error) for error in raised] == [MisuseError]
    assert not [line for line in calls() if "statjob" in line]


def test_a_child_refuses_the_connection_of_its_parent(libpbs, calls):
    connection = Connection(libpbs(Scenario().job("30.pbs01", RUNNING)))
    child = os.fork()
    if child == 0:
        try:
            connection.statjob("30")
        except MisuseError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not [line for line in calls() if "statjob" in line]
    connection.close()


def test_a_pool_in_a_child_opens_a_connection_of_its_own_and_leaves_the_parents_open(libpbs, calls):
    pool = Pool(libpbs(Scenario().job("30.pbs01", RUNNING)))
    pool.connection()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 7 if pool.connection().statjob("30") else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert pool.connection().statjob("30")
    assert not [line for line in calls() if line.startswith("fault")]


def test_a_closed_connection_says_so(libpbs):
    connection = Connection(libpbs(Scenario()))
    connection.close()
    connection.close()
    with pytest.raises(MisuseError, match="closed"):
        connection.statjob("")


def test_threads_with_a_pool_never_meet_in_a_connection(libpbs, calls):
    """Eight threads, succeeding and failing calls, in a library that is slow enough for them to meet."""
    library = libpbs(Scenario().job("30.pbs01", RUNNING).slow("statjob", 1))
    pool = Pool(library)
    seen: list[str] = []

    def ask() -> None:
        for _ in range(5):
            seen.append(pool.connection().statjob("30")[0].name)
            try:
                pool.connection().statjob("99")
            except SchedulerError as error:
                seen.append(str(error.code))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    gc.collect()
    said = calls()
    assert sorted(set(seen)) == ["15001", "30.pbs01"] and len(seen) == 80
    assert not [line for line in said if line.startswith("fault")]
    assert len([line for line in said if line.startswith("call connect")]) == 8
    assert len([line for line in said if line.startswith("call disconnect")]) == 8
    assert live(library) == 0


def test_the_double_notices_two_threads_in_one_connection(libpbs, calls):
    """Around our checks, straight into the library: the test above could fail."""
    library = libpbs(Scenario().job("30.pbs01", RUNNING).slow("statjob", 800))
    number = library.functions.pbs_connect(None)
    together = threading.Barrier(2)

    def ask() -> None:
        together.wait(20)
        library.functions.pbs_statfree(library.functions.pbs_statjob(number, b"30", None, None))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert "fault two threads in connection %d" % number in calls()


def test_the_double_notices_a_connection_used_after_a_fork(libpbs, calls):
    library = libpbs(Scenario())
    number = library.functions.pbs_connect(None)
    child = os.fork()
    if child == 0:
        library.functions.pbs_statserver(number, None, None)
        os._exit(0)
    os.waitpid(child, 0)
    assert "fault connection %d used after a fork" % number in calls()


def test_the_double_counts_a_list_that_was_not_given_back(libpbs):
    library = libpbs(Scenario().job("30.pbs01", RUNNING))
    number = library.functions.pbs_connect(None)
    answer = library.functions.pbs_statjob(number, b"30", None, None)
    assert live(library) == 1
    library.functions.pbs_statfree(answer)
    assert live(library) == 0


def test_torques_library_is_refused(tmp_path):
    with pytest.raises(SchedulerError, match="Torque"):
        Library(str(build(tmp_path / "libpbs.so", source="libpbs_torque.c")))


def test_a_library_that_lacks_a_call_is_refused_by_name(tmp_path):
    """libpbs of another kind, or of an age before these calls."""
    with pytest.raises(SchedulerError, match="pbs_statjob"):
        Library(str(build(tmp_path / "libpbs.so", "-Dpbs_statjob=another_name")))


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF\x01\x01\x01" + bytes(64)], ids=["absent", "empty", "32 bit"])
def test_a_file_that_is_no_library_of_this_machine_is_one_line(tmp_path, content):
    path = tmp_path / "libpbs.so"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SchedulerError, match="cannot be loaded") as caught:
        Library(str(path))
    assert "\n" not in str(caught.value)


def test_the_library_is_found_where_pbs_conf_says(tmp_path, built_libpbs):
    (tmp_path / "exec" / "lib").mkdir(parents=True)
    shutil.copy(built_libpbs, tmp_path / "exec" / "lib" / "libpbs.so.0")
    conf = tmp_path / "pbs.conf"
    conf.write_text("# PBS\nPBS_SERVER=pbs01\nPBS_EXEC=%s\n" % (tmp_path / "exec"))
    assert find(None, {"PBS_CONF_FILE": str(conf)}) == str(tmp_path / "exec/lib/libpbs.so.0")
    assert find("/else/where.so", {"PBS_CONF_FILE": str(conf)}) == "/else/where.so"


def test_a_nul_in_a_value_is_refused_rather_than_cut(libpbs, calls):
    with Connection(libpbs(Scenario().job("30.pbs01", RUNNING))) as connection, pytest.raises(ValueError, match="NUL"):
        connection.alterjob("30", [Attribute("comment", "", "a\0b")])
    assert not [line for line in calls() if "alterjob" in line]


VALUES = (
    st.binary(max_size=40).filter(lambda raw: b"\0" not in raw).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES, resource=VALUES.filter(bool))
def test_any_text_comes_through_the_binding_as_it_is(built_libpbs, tmp_path_factory, value, resource):
    folder: Path = tmp_path_factory.mktemp("exact")
    shutil.copy(built_libpbs, folder / "lib.so")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAPLE_LIBPBS_SCENARIO", str(Scenario().job("1.a", {"x." + resource: value}).write(folder / "s")))
        patch.delenv("MAPLE_LIBPBS_LOG", raising=False)
        library = Library(str(folder / "lib.so"))
        with Connection(library) as connection:
            assert connection.statjob("1")[0].attributes == (Attribute("x", resource, value),)
    assert live(library) == 0
