"""On the double of libpbs: how a PBS job ended, where its output went, and the script that its words name."""

from __future__ import annotations

import getpass
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from maple_agents.ask.schedulers.pbs.commands import PbsCommands
from maple_agents.ask.schedulers.pbs.libpbs import Pbs
from maple_agents.ask.schedulers.pbs.library import Library
from maple_agents.ask.schedulers.protocol import Job
from maple_agents.base.complaint import Complaint
from maple_agents.diagnose.gather import by_job
from maple_agents.diagnose.values import Case
from maple_submit_filter.answer.decision import decide

from tests.doubles.libpbs import Scenario, build

WORD = "<jsdl-hpcpa:Argument>%s</jsdl-hpcpa:Argument>"
BEGAN, OVER = 1763670010, 1763670100


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The double, compiled once."""
    return build(tmp_path_factory.mktemp("libpbs") / "libpbs-double.so")


class Place:
    """A folder from which jobs were submitted."""

    def __init__(self, folder: Path, double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._double, self._monkeypatch = folder, double, monkeypatch

    def attributes(self, *words: str, **more: str) -> dict[str, str]:
        """What PBS says of a job that ended, submitted with these words."""
        told = {
            "Job_Name": "train", "Job_Owner": "%s@pbs01" % getpass.getuser(), "job_state": "F", "substate": "93",
            "queue": "workq", "exec_host": "node1/0*8+node2/0*8", "ctime": "1763670000", "stime": str(BEGAN),
            "obittime": str(OVER), "Exit_status": "1", "comment": "Job run at Thu and failed",
            "Output_Path": "pbs01:%s/train.o30" % self.folder, "Error_Path": "pbs01:%s/train.e30" % self.folder,
            "Variable_List": "PBS_O_HOME=/home/a,PBS_O_WORKDIR=%s,PBS_O_LOGNAME=a" % self.folder,
            "Submit_arguments": "".join(WORD % word for word in words), "Resource_List.walltime": "00:10:00",
            "resources_used.walltime": "00:01:30", "Resource_List.mem": "64gb", "resources_used.mem": "90gb",
        }  # fmt: skip
        return {**told, **{name.replace("__", "."): value for name, value in more.items()}}

    def case(self, asked: str, **jobs: dict[str, str]) -> Case:
        """The case of a job among those that PBS knows."""
        return by_job(asked, scheduler=self.pbs(**jobs))

    def pbs(self, **jobs: dict[str, str]) -> Pbs:
        """A PBS that knows these jobs."""
        scenario = Scenario()
        for name, attributes in jobs.items():
            scenario.job(name, attributes)
        mine = self.folder / ("libpbs-%d.so" % len(list(self.folder.glob("libpbs-*"))))
        shutil.copy(self._double, mine)
        self._monkeypatch.setenv("MAPLE_LIBPBS_SCENARIO", str(scenario.write(self.folder / "scenario")))
        self._monkeypatch.setenv("MAPLE_LIBPBS_LOG", str(self.folder / "libpbs.log"))
        return Pbs(Library(str(mine)))

    def file(self, name: str, text: str = "x\n", at: float = OVER) -> str:
        """A file in the folder, last written at that time."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))
        return str(path)


@pytest.fixture
def place(tmp_path: Path, double: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A folder of the test's own; no service remembers anything."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    return Place(tmp_path, double, monkeypatch)


def test_end_output_and_script_are_found(place: Place) -> None:
    """PBS gives no script back: the file that the words name is read, if it is as old as the submission."""
    script = "#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=4\nmpiexec -n 8 python train.py\n"
    place.file("job.sh", script, 1763660000)
    out, err = place.file("train.o30"), place.file("train.e30")
    case = place.case("30", **{"30.pbs01": place.attributes("-l", "walltime=10:00", "job.sh")})
    ended = case.ended
    assert (ended.id, ended.state, ended.exit_code, ended.nodes) == ("30.pbs01", "failed", 1, ("node1", "node2"))
    assert (ended.elapsed, ended.limit, ended.memory, ended.used_memory) == (90, 600, 32 << 30, None)
    assert [(one.path, one.role) for one in case.logs] == [(err, "stderr"), (out, "stdout")]
    assert case.asked is not None and case.asked.script == script.encode()
    assert case.asked.argv == (b"qsub", b"-l", b"walltime=10:00", b"job.sh") and case.asked.path == b"job.sh"
    assert (case.scheduler, case.site.scheduler, case.notes, case.missing) == ("pbs", "pbs", (), ())
    plan = decide(case.asked, case.site).plan
    assert plan is not None and plan.steps


def test_a_script_that_changed_since_is_said_to_have(place: Place) -> None:
    """It may be the one that ran, or not."""
    place.file("job.sh", "#!/bin/bash\nmpiexec python x.py\n", 1763670050)
    case = place.case("30", **{"30.pbs01": place.attributes("job.sh")})
    assert case.asked is not None and "may not be what ran" in case.notes[0]
    case = place.case("30", **{"30.pbs01": place.attributes("gone.sh")})
    assert case.asked is None and any("gone.sh cannot be read" in line for line in case.missing)


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        ("-29", "timeout", "its walltime was over"),
        ("-27", "out-of-memory", "more memory than it had"),
        ("-20", "node-failed", "a node of the job was lost"),
        ("-1", "failed", "its start failed"),
        ("-11", "unknown", "put back into its queue"),
        ("0", "completed", ""),
        ("271", "failed", ""),
    ],
)
def test_exit_statuses_that_pbs_makes_up_are_told_in_words(place: Place, status: str, state: str, words: str) -> None:
    """Negative ones are PBS's own, those beyond 256 a signal."""
    ended = place.case("30", **{"30.pbs01": place.attributes(Exit_status=status)}).ended
    assert ended.state == state and words in ended.reason and ended.signal == (15 if status == "271" else None)


@pytest.mark.parametrize("status", ["0", "143", "271", "1"])
@pytest.mark.parametrize("substate", ["53", "91", "93"])
def test_a_job_that_its_owner_deleted_is_cancelled(place: Place, status: str, substate: str) -> None:
    """Its exit status is whatever its script made of the signal; its comment tells."""
    comment = "Job run at Sun Nov 22 at 10:00 on (node1:ncpus=8) and terminated by alice@pbs01"
    told = place.attributes(Exit_status=status, substate=substate, comment=comment)
    assert place.case("30", **{"30.pbs01": told}).ended.state == "cancelled"


def test_a_job_that_can_never_run_says_why(place: Place) -> None:
    """It waits, and only its comment tells."""
    told = place.attributes(job_state="Q", substate="10", comment="Can Never Run: Not enough total nodes available")
    for name in ("Exit_status", "stime", "obittime", "exec_host"):
        del told[name]
    case = place.case("30", **{"30.pbs01": told})
    assert (case.ended.state, case.logs) == ("pending", ())
    assert case.ended.reason == "Can Never Run: Not enough total nodes available"
    held = {**told, "job_state": "H", "Hold_Types": "s", "comment": "job held, too many failed attempts to run"}
    assert place.case("30", **{"30.pbs01": held}).ended.reason == (
        "job held, too many failed attempts to run, held (Hold_Types s)"
    )


def test_joined_foldered_and_kept_output_is_found(place: Place) -> None:
    """`-j oe`, `-o folder/`, and a folder that nobody wrote a slash behind."""
    joined = place.file("train.o30")
    case = place.case("30", **{"30.pbs01": place.attributes(Join_Path="oe")})
    assert [(one.path, one.role) for one in case.logs] == [(joined, "both")]
    inside = place.file("logs/30.pbs01.OU")
    for path in ("pbs01:%s/logs/", "pbs01:%s/logs"):
        told = place.attributes(Join_Path="oe", Output_Path=path % place.folder)
        assert [one.path for one in place.case("30", **{"30.pbs01": told}).logs] == [inside]


def test_output_that_was_not_delivered_is_said_where_to_look(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the node it lies in PBS's own spool."""
    case = place.case("30", **{"30.pbs01": place.attributes()})
    assert case.logs == () and any("node1" in line and "undelivered" in line for line in case.missing)
    monkeypatch.setenv("PBS_HOME", str(place.folder / "spool_home"))
    (place.folder / "spool_home").mkdir()
    spooled = place.file("spool_home/spool/30.pbs01.OU") if (place.folder / "spool_home/spool").mkdir() is None else ""
    assert [one.path for one in place.case("30", **{"30.pbs01": place.attributes()}).logs] == [spooled]


def test_output_of_a_job_that_runs_lies_on_its_node(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """PBS delivers it at the end; on that node itself it is read. Nothing is said of files that nobody keeps."""
    told = place.attributes(job_state="R", substate="42", Exit_status="", obittime="")
    case = place.case("30", **{"30.pbs01": told})
    assert (case.ended.state, case.logs) == ("running", ())
    assert case.missing == (
        "PBS delivers output when the job has ended; until then it lies on node1 in /var/spool/pbs/spool",
    )
    monkeypatch.setenv("PBS_HOME", str(place.folder))
    spooled = place.file("spool/30.pbs01.OU")
    case = place.case("30", **{"30.pbs01": told})
    assert [one.path for one in case.logs] == [spooled] and case.missing == ()
    (place.folder / "spool/30.pbs01.OU").unlink()
    for more in ({"Remove_Files": "oe"}, {"Output_Path": "pbs01:/dev/null", "Join_Path": "oe"}):
        case = place.case("30", **{"30.pbs01": place.attributes(**more)})
        assert case.logs == () and not any("undelivered" in line for line in case.missing)


@pytest.mark.parametrize("asked", ["39[2]", "39[2].pbs01", "39[]", "39"])
def test_the_script_of_a_task_is_that_of_its_array(place: Place, asked: str) -> None:
    """PBS tells the words of the submission of the array alone."""
    script = "#!/bin/bash\n#PBS -J 1-3\nmpiexec -n 8 python train.py\n"
    place.file("job.sh", script, 1763660000)
    words = ("-l", "walltime=10:00", "job.sh")
    jobs = {"39[].pbs01": place.attributes(*words, array_indices_submitted="1-3", job_state="X")}
    for index in (1, 2, 3):
        jobs["39[%d].pbs01" % index] = place.attributes(*words, Exit_status="1" if index == 2 else "0")
    case = place.case(asked, **jobs)
    assert (case.ended.id, case.ended.state) == ("39[2].pbs01", "failed")
    assert case.asked is not None and case.asked.script == script.encode()
    assert case.asked.argv[:3] == (b"qsub", b"-l", b"walltime=10:00")


def test_of_an_array_the_subjob_that_failed_first_is_taken(place: Place) -> None:
    """The parent says which there are."""
    path = "pbs01:%s/train.o39.^array_index^" % place.folder
    parent = place.attributes("job.sh", array_indices_submitted="1-4", Output_Path=path, Join_Path="oe")
    jobs = {"39[].pbs01": parent}
    for index, (code, ended) in enumerate([("0", 50), ("7", 90), ("3", 60), ("0", 70)], 1):
        own = place.attributes(
            "job.sh", Exit_status=code, obittime=str(BEGAN + ended), Output_Path=path, Join_Path="oe"
        )
        jobs["39[%d].pbs01" % index] = own
        place.file("train.o39.%d" % index, at=BEGAN + ended)
    assert place.case("39", **jobs).ended.id == "39[3].pbs01"
    case = place.case("39[].pbs01", **jobs)
    assert (case.ended.id, case.ended.exit_code) == ("39[3].pbs01", 3)
    assert [os.path.basename(one.path) for one in case.logs] == ["train.o39.3", "train.o39.2"]
    assert case.notes[0] == "2 tasks of the array failed; this is task 3, the first of them"
    one = place.case("39[2].pbs01", **jobs)
    assert [os.path.basename(log.path) for log in one.logs] == ["train.o39.2"]


def test_a_routed_job_that_vanished_is_told_in_one_line(place: Place) -> None:
    """PBS says that there is no such job, and keeps no history of it."""
    with pytest.raises(Complaint) as caught:
        place.case("99")
    assert "no queue accepted it after routing" in caught.value.message and "\n" not in caught.value.message


def test_another_users_job_is_refused(place: Place) -> None:
    """A child of another uid asks for it."""
    if os.getuid() == 0:
        answered = Answered(place.pbs(**{"30.pbs01": place.attributes()}).jobs(["30"]))
        assert refused(lambda: by_job("30", scheduler=answered))  # type: ignore[arg-type]
    other = place.attributes(Job_Owner="nobody@pbs01")
    if os.getuid() != 0:
        with pytest.raises(Complaint):
            place.case("30", **{"30.pbs01": other})


class Answered:
    """A PBS that has answered already: a child of another uid could not reach the double's files."""

    name = "pbs"

    def __init__(self, answer: dict[str, Job]) -> None:
        self._answer = answer

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """What it said."""
        return {one: self._answer[one] for one in ids}


def refused(ask: Callable[[], Case]) -> bool:
    """Whether a child that becomes nobody is told nothing."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.seteuid(65534)
            ask()
        except Complaint as error:
            code = 0 if "only its owner" in error.message else 2
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def test_qstats_own_words_are_read_where_there_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints the submission's words with blanks between them."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    folder = tmp_path / "bin"
    folder.mkdir()
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\nmpiexec python x.py\n")
    os.utime(script, (1763660000, 1763660000))
    out = tmp_path / "out.log"
    out.write_text("x\n")
    os.utime(out, (1763670100, 1763670100))
    text = (
        '{"Jobs":{"30.pbs01":{"Job_Name":"n","Job_Owner":"%s@h","job_state":"F","substate":93,"queue":"q",'
        '"exec_host":"node1/0*8","ctime":"Thu Nov 20 20:20:00 2025","stime":"Thu Nov 20 20:20:10 2025",'
        '"obittime":"Thu Nov 20 20:21:40 2025","Exit_status":-29,"Output_Path":"h:%s","Join_Path":"oe",'
        '"Variable_List":{"PBS_O_WORKDIR":"%s","PBS_O_HOME":"/home/a"},"resources_used":{"mem":"1234kb"},'
        '"Resource_List":{"mem":"2gb"},"Submit_arguments":"-l select=1:ncpus=4 job.sh"}}}'
    ) % (getpass.getuser(), out, tmp_path)
    (folder / "answer").write_text(text)
    (folder / "qstat").write_text("#!/bin/sh\ncat '%s/answer'\n" % folder)
    (folder / "qstat").chmod(0o755)
    case = by_job("30.pbs01", scheduler=PbsCommands(str(folder)))
    assert case.ended.state == "timeout" and case.ended.used_memory == 1234 << 10 and case.ended.memory == 2 << 30
    assert [one.path for one in case.logs] == [str(out)]
    assert case.asked is not None and case.asked.argv == (b"qsub", b"-l", b"select=1:ncpus=4", b"job.sh")
