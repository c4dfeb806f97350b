"""A case from files alone, from Maple's own record, and from the script's file."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from maple_agents.base import quantities
from maple_agents.base.complaint import Complaint
from maple_agents.diagnose.gather import by_files, by_job, cases, offline, places
from maple_agents.diagnose.gather.cases import with_script
from maple_agents.diagnose.gather.name_patterns import Walk
from maple_agents.diagnose.gather.sources import from_slurm
from maple_agents.diagnose.gather.sources.job_facts import JobFacts, together
from maple_agents.diagnose.gather.sources.submission import asked
from maple_agents.diagnose.values import Case
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.answer.trailer import close
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.job_records import Outcome, Record, Version

SCRIPT = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py --token=hf_abcdefghijklmnopqrstuvwxyz012345\n"
MASKED = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py --token=[masked]\n"


# --- files ------------------------------------------------------------------------------------------------------


def test_files_make_a_case(tmp_path: Path) -> None:
    """Nobody is asked; what the names tell is taken."""
    names = ["slurm-1.out", "job.err", "attempt_0/3/stderr.log", "x_rank12.log", "error.json", "a.o12", "train.log"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "job.sh").write_bytes(SCRIPT)
    paths = [str(tmp_path / name) for name in names]
    case = by_files(paths, str(tmp_path / "job.sh"), "generic-slurm", ["--nodes=4"], "timeout", 1)
    assert [(one.role, one.rank) for one in case.logs] == [
        ("both", None), ("stderr", None), ("stderr", 3), ("rank", 12), ("error-file", None), ("stdout", None),
        ("both", None),
    ]  # fmt: skip
    assert [one.path for one in case.logs] == paths
    assert (case.ended.state, case.ended.exit_code, case.name, case.missing) == ("timeout", 1, "job.sh", ())
    assert case.asked is not None and case.asked.script == SCRIPT
    plan = decide(case.asked, case.site).plan
    assert plan is not None and plan.allocation.nodes == 4


def test_one_file_holds_both_streams_and_a_file_named_twice_is_one(tmp_path: Path) -> None:
    """`-j oe` writes both to the file of stdout."""
    log = tmp_path / "train.o30"
    log.write_text("x\n")
    os.symlink("train.o30", tmp_path / "link")
    case = by_files([str(log), str(tmp_path / "link"), str(log)], site_id="generic-pbs")
    assert [(one.path, one.role) for one in case.logs] == [(str(log), "both")]
    assert (case.scheduler, case.asked, case.ended.state) == ("pbs", None, "unknown")


@pytest.mark.parametrize(("code", "state"), [(0, "completed"), (1, "failed"), (None, "unknown")])
def test_an_exit_code_tells_the_state(tmp_path: Path, code: int, state: str) -> None:
    """Where none is said."""
    (tmp_path / "a.log").write_text("")
    assert by_files([str(tmp_path / "a.log")], exit_code=code, site_id="generic-slurm").ended.state == state


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    """A folder, a FIFO, a device, nothing, a name that is none; among others it is a line of what is missing."""
    os.mkfifo(tmp_path / "fifo")
    bad = {
        str(tmp_path): "is a folder",
        str(tmp_path / "fifo"): "is no regular file",
        "/dev/zero": "is no regular file",
        str(tmp_path / "gone"): "no such file",
        "a\0b": "is no file name",
        "": "no such file",
    }
    for name, says in bad.items():
        with pytest.raises(Complaint) as caught:
            by_files([name], site_id="generic-slurm")
        assert says in caught.value.message and "\n" not in caught.value.message
    (tmp_path / "good").write_text("x")
    case = by_files([*bad, str(tmp_path / "good")], site_id="generic-slurm")
    assert [one.path for one in case.logs] == [str(tmp_path / "good")] and len(case.missing) == len(bad)


def test_logs_of_the_script_that_nobody_named_are_said_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be of another run, so they are not read; what lies elsewhere is not looked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(
        "#!/bin/bash\npython a.py > a.log\npython b.py > /etc/passwd\n"
        "srun -N1 -n1 torchrun --nproc-per-node=2 --log-dir L t.py\n"
    )
    (tmp_path / "slurm-7.out").write_text("x\n")
    assert by_files(["slurm-7.out"], "job.sh", "generic-slurm").notes == ()
    (tmp_path / "a.log").write_text("x\n")
    case = by_files(["slurm-7.out"], "job.sh", "generic-slurm")
    assert case.notes == ("the script writes to a.log too, not read: --log FILE",) and len(case.logs) == 1
    assert by_files(["slurm-7.out", "a.log"], "job.sh", "generic-slurm").notes == ()
    for rank in "01":
        (tmp_path / "L/r/attempt_0" / rank).mkdir(parents=True)
        (tmp_path / "L/r/attempt_0" / rank / "stderr.log").write_text("x\n")
    notes = by_files(["slurm-7.out", "a.log"], "job.sh", "generic-slurm").notes
    assert notes == ("the script writes to 2 files in L/r/attempt_0 too, not read: --log L/r/attempt_0",)


def test_of_a_folder_the_logs_in_it_are_read(tmp_path: Path) -> None:
    """Those of torchrun's newest run; no data, no hidden folder, nothing behind a link, nothing that is no file."""
    read = ["train.log", "slurm-7.out", "job.e7", "rank_3", "x/stderr", "log_0.txt",
            "runs/b/attempt_0/0/error.json", "runs/b/attempt_1/3/stderr.log"]  # fmt: skip
    left = ["model.pt", "requirements.txt", "train.py", ".git/logs/x.log", "runs/a/attempt_0/0/stderr.log"]
    for at, name in enumerate([*left, *read]):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text("x\n")
        os.utime(tmp_path / "in" / name, (1000 + at, 1000 + at))
    (tmp_path / "other").mkdir()
    (tmp_path / "other/y.log").write_text("x\n")
    (tmp_path / "in/link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "in/z.log")
    case = by_files([str(tmp_path / "in")], site_id="generic-slurm")
    assert [os.path.relpath(one.path, tmp_path / "in") for one in case.logs] == read
    assert [one.role for one in case.logs[-2:]] == ["error-file", "stderr"] and case.logs[-1].rank == 3
    assert case.missing == ("%s/in/runs/a: an older run, which is not read" % tmp_path,)


def test_of_a_folder_of_many_logs_the_newest_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That there are more is said; a folder of folders without end is left."""
    for at in range(5):
        (tmp_path / ("%d.log" % at)).write_text("x\n")
        os.utime(tmp_path / ("%d.log" % at), (1000 + at, 1000 + at))
    monkeypatch.setattr(offline, "MOST", 2)
    case = by_files([str(tmp_path)], site_id="generic-slurm")
    assert [os.path.basename(one.path) for one in case.logs] == ["3.log", "4.log"]
    assert case.missing == ("%s: there are more logs in it, which are not read" % tmp_path,)
    monkeypatch.setattr(offline, "MOST_NAMES", 2)
    assert len(offline.logs_in(str(tmp_path)).paths) == 1 and offline.logs_in(str(tmp_path)).left
    monkeypatch.setattr(offline, "MOST_NAMES", 100)
    deep = tmp_path / "/".join("d" * 20)
    deep.mkdir(parents=True)
    (deep / "far.log").write_text("x\n")
    assert not any("far.log" in path for path in offline.logs_in(str(tmp_path)).paths)


def test_a_file_that_is_not_ours_to_read_is_said(tmp_path: Path) -> None:
    """By a child of another uid, where we are root."""
    (tmp_path / "secret").write_text("x")
    os.chmod(tmp_path / "secret", 0)
    if os.getuid() == 0:
        os.chmod(tmp_path, 0o755)
    said = complained_as_nobody(lambda: by_files([str(tmp_path / "secret")], site_id="generic-slurm"))
    assert said.endswith(("permission denied; name a log that you can read: --log FILE",))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"logs": [], "script": None}, "nothing to read"),
        ({"logs": [], "script": "/proc/nowhere.sh"}, "no such file"),
        ({"logs": ["/etc/hostname"], "site_id": "nowhere"}, "there is no such site"),
        ({"logs": ["/etc/hostname"], "state": "dead"}, "there is no such state"),
    ],
)
def test_what_cannot_be_a_case_is_one_line(words: dict[str, Any], says: str) -> None:
    """With what to do."""
    with pytest.raises(Complaint) as caught:
        by_files(**words)
    assert says in caught.value.message


def test_a_script_alone_is_a_case(tmp_path: Path) -> None:
    """A job that hung in silence has no other evidence."""
    (tmp_path / "job.sh").write_bytes(SCRIPT)
    case = by_files([], str(tmp_path / "job.sh"), "generic-slurm", state="timeout")
    assert case.logs == () and case.asked is not None


# --- the script's file ------------------------------------------------------------------------------------------


def test_a_masked_script_is_made_whole_from_its_file(tmp_path: Path) -> None:
    """Where the file is the same but for what is masked; else it says so."""
    path = tmp_path / "job.sh"
    path.write_bytes(SCRIPT)
    told = JobFacts(script=MASKED, path=str(path))
    assert with_script(told, None).script == SCRIPT and with_script(told, None).notes == ()
    path.write_bytes(SCRIPT.replace(b"--nodes=2", b"--nodes=3"))
    made = with_script(told, None)
    assert made.script == MASKED and made.notes == ("secrets in the script are masked",)


def test_the_closing_line_of_a_repaired_script_leads_to_what_the_user_wrote(tmp_path: Path) -> None:
    """While the file still is what it was."""
    path = tmp_path / "job.sh"
    path.write_bytes(SCRIPT)
    sent = close(SCRIPT.replace(b"srun", b"srun -n2"), ["MPL301"], "abc", hashlib.sha256(SCRIPT).hexdigest())
    assert with_script(JobFacts(script=sent, path=str(path)), None).before == SCRIPT
    path.write_bytes(SCRIPT + b"\n")
    assert with_script(JobFacts(script=sent, path=str(path)), None).before is None


def test_an_owner_is_not_shown_a_script_that_he_may_not_read(tmp_path: Path) -> None:
    """Root asks for another user's job, whose words name root's own file."""
    path = tmp_path / "job.sh"
    path.write_bytes(SCRIPT)
    path.chmod(0o600)
    assert with_script(JobFacts(path=str(path)), os.getuid() + 1).script is None
    assert with_script(JobFacts(path=str(path)), os.getuid()).script == SCRIPT


# --- what is told together --------------------------------------------------------------------------------------


def test_the_first_that_says_anything_holds() -> None:
    """State and exit code come from one source, so that they fit each other; reasons are gathered."""
    slurm = JobFacts(by="Slurm", state="failed", signal=9, reason="NonZeroExitCode", nodes=("n1",), missing=("a",))
    maple = JobFacts(
        by="Maple", state="completed", exit_code=0, reason="NonZeroExitCode, x", script=b"#!", missing=("a", "b")
    )
    both = together([slurm, maple])
    assert (both.by, both.state, both.exit_code, both.signal) == ("Slurm", "failed", None, 9)
    assert (both.reason, both.script, both.missing) == ("NonZeroExitCode, x", b"#!", ("a", "b"))
    assert together([JobFacts(state="unknown"), maple]).exit_code == 0
    assert not JobFacts(id="1", missing=("x",)).knows


def test_secrets_in_lines_for_people_are_masked(tmp_path: Path) -> None:
    """In names of files that a script writes to, and in the scheduler's own words."""
    token = "hf_" + "abcdefghijklmnopqrstuvwxyz" + "01234567"
    script = b"#!/bin/bash\npython t.py > log.%s\n" % token.encode()
    told = JobFacts(
        scheduler="slurm", id="1", state="failed", nodes=("n",), script=script, work_dir=str(tmp_path),
        reason="Comment %s" % token, missing=("at https://me:secret@host/x",), stdout="/dev/null",
    )  # fmt: skip
    case = cases.case_of(told, "generic-slurm")
    said = repr((case.missing, case.notes, case.ended))
    assert token not in said and "secret@" not in said and said.count("[masked]") >= 3


def test_a_file_server_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known without it makes the case."""
    over = threading.Event()
    monkeypatch.setattr(cases, "SECONDS", 0.2)
    monkeypatch.setattr(Walk, "files", lambda self, path: over.wait(30) and iter(()))
    told = JobFacts(scheduler="slurm", id="1", state="failed", nodes=("n",), work_dir=str(tmp_path), exit_code=1)
    case = cases.case_of(told, "generic-slurm")
    over.set()
    assert case.ended.exit_code == 1 and case.logs == () and "a file server does not answer" in case.missing[0]


@pytest.mark.parametrize(("mode", "notes"), [("append", 1), ("truncate", 0)])
def test_a_restarted_jobs_output_may_hold_earlier_runs(tmp_path: Path, mode: str, notes: int) -> None:
    """Where it is appended to."""
    (tmp_path / "slurm-1.out").write_text("x\n")
    script = b"#!/bin/bash\n#SBATCH --open-mode=%s\nsrun python t.py\n" % mode.encode()
    told = JobFacts(
        scheduler="slurm", id="1", state="failed", nodes=("n",), work_dir=str(tmp_path), script=script, restarts=2
    )
    case = cases.case_of(told, "generic-slurm")
    assert len(case.logs) == 1 and len(case.notes) == notes
    assert all("started anew 2 times" in line for line in case.notes)


def test_the_task_of_an_array_that_the_command_line_made_is_asked_for_again(tmp_path: Path) -> None:
    """`sbatch --array=1-9 job.sh`, of which nobody stored the words: the one task is what failed."""
    told = JobFacts(
        scheduler="slurm", id="7_3", index=3, array="7", script=SCRIPT, path="/x/job.sh", shape=(("nodes", "2"),)
    )
    made = asked(told, GENERIC_SLURM)
    assert made is not None and made.argv == (b"sbatch", b"--array=3", b"/x/job.sh")


def test_a_part_of_a_heterogeneous_job_concludes_nothing() -> None:
    """Its script may be that of all parts: it is left alone."""
    made = asked(JobFacts(scheduler="slurm", id="7+1", script=SCRIPT, path="/x/job.sh", work_dir="/x"), GENERIC_SLURM)
    assert made is not None and decide(made, GENERIC_SLURM).verdict == "unread"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (JobFacts(partition="gpuA100x4"), 40 << 30),
        (JobFacts(partition="gpuA40x4"), 48 << 30),
        (JobFacts(partition="nope"), None),
        (JobFacts(), None),
    ],
)
def test_the_memory_of_a_gpu_is_that_of_the_partitions_nodes(told: JobFacts, expected: int) -> None:
    """Where it is not known which nodes, it is not known."""
    site = places.site_for(JobFacts(scheduler="slurm"), "ncsa-delta").site
    assert places.gpu_memory(told, site) == expected


def test_the_site_fits_the_jobs_scheduler() -> None:
    """A generic one gives way; another is refused."""
    assert places.site_for(JobFacts(scheduler="pbs"), "generic-slurm").site.id == "generic-pbs"
    assert places.site_for(JobFacts(scheduler="pbs", site="alcf-polaris"), None).site.id == "alcf-polaris"
    with pytest.raises(Complaint):
        places.site_for(JobFacts(scheduler="pbs"), "ncsa-delta")


# --- what schedulers print -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [("4G", "", 4 << 30), ("1.50T", "", 3 << 39), ("123kb", "", 123 << 10), ("500", "m", 500 << 20), ("0", "", 0),
     ("8b", "m", 8), ("", "", None), ("N/A", "", None), ("1GiB", "", 1 << 30), (None, "", None)],
)  # fmt: skip
def test_sizes(text: str, unit: str, expected: int) -> None:
    """Slurm's and PBS's, in powers of 1024."""
    assert quantities.size(text, unit) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1-02:03:04", 93784), ("02:03:04", 7384), ("03:04", 184), ("UNLIMITED", None), ("", None), ("1-2", 93600),
     ("200:00:00", 720000), ("5", None)],
)  # fmt: skip
def test_times(text: str, expected: float) -> None:
    """A bare number could be minutes or seconds."""
    assert quantities.printed(text) == expected


def test_what_newer_versions_of_slurm_show_is_read() -> None:
    """Totals stand in AllocTRES, GPUs in another form, and the submit line is there."""
    text = """JobId=9 JobName=a
   UserId=me(1000) GroupId=me(1000) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=1:0
   DerivedExitCode=137:0
   RunTime=00:10:00 TimeLimit=2-00:00:00 TimeMin=N/A
   NumNodes=2 NumCPUs=64 NumTasks=8 CPUs/Task=8 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=64,mem=100G,node=2
   AllocTRES=cpu=64,mem=128G,node=2,gres/gpu=8
   Socks/Node=* NtasksPerN:B:S:C=4:0:*:* CoreSpec=*
   MinCPUsNode=32 MinMemoryNode=50G MinTmpDiskNode=0
   Comment=x TimeLimit=1 StdOut=/etc/passwd
   SubmitLine=sbatch -N 2 job.sh
   StdOut=/w/%x.out
   TresPerNode=gres/gpu:4
"""
    fields = from_slurm.read_shown(text, "9", "a")
    assert (fields["TimeLimit"], fields["StdOut"], fields["Restarts"]) == ("2-00:00:00", "/w/%x.out", "2")
    assert from_slurm.submit_line(fields["SubmitLine"]) == (b"sbatch", b"-N", b"2", b"job.sh")
    shape = dict(from_slurm.shape(fields))
    assert (shape["nodes"], shape["ntasks-per-node"], shape["gres"], shape["cpus-per-task"]) == ("2", "4", "gpu:4", "8")
    assert from_slurm.memory(fields, 2) == 64 << 30 and from_slurm.read_shown(text, "8", "a") == {}


# --- Maple's record ---------------------------------------------------------------------------------------------


class Service:
    """A service that remembers one submission, in the words of its socket."""

    def __init__(self, path: str, answers: dict[str, object]) -> None:
        self.path, self._answers = path, answers
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(path)
        self._listening.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._listening.accept()
            except OSError:
                return
            with one:
                head = one.recv(8, socket.MSG_WAITALL)
                body = json.loads(one.recv(struct.unpack(">I", head[4:])[0], socket.MSG_WAITALL))
                found = self._answers[body["ask"]]
                if body["ask"] == "records" and body.get("job") not in ("", "4711"):
                    found = []
                text = json.dumps({"found": found}).encode()
                one.sendall(b"MPJ1" + struct.pack(">I", len(text)) + text)

    def close(self) -> None:
        """End it."""
        self._listening.close()


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A service that knows job 4711, which Maple had repaired; there is no scheduler. Gives the work folder."""
    work = tmp_path / "work"
    work.mkdir()
    outcome = Outcome("4711", "failed", os.getuid(), "jobcomp/script", 1, None, "n1,n2", 5000.0, 5010.0, 5100.0,
                      "job.sh", str(work), output=str(work / "slurm-4711.out"))  # fmt: skip
    version = Version("v" * 32, "l" * 32, "", os.getuid(), 5000.0, "slurm", str(work / "job.sh"), "job.sh", str(work),
                      ("sbatch", "-N", "2", "job.sh"), MASKED, hashlib.sha256(SCRIPT).hexdigest())  # fmt: skip
    record = Record("r" * 32, version.id, os.getuid(), 5000.0, "login", 1, 1, "repair", "repaired", ("MPL301",),
                    "decided", "", "4711", "filter", outcome, "", "d" * 64)  # fmt: skip
    told = {**version._asdict(), "script": MASKED.decode(), "argv": list(version.argv)}
    sent = {"script": MASKED.decode().replace("srun", "srun -n2"), "argv": ["sbatch", "-N", "2", "job.sh"]}
    answers = {
        "records": [{**record._asdict(), "outcome": outcome._asdict()}],
        "version": told,
        "decision": {"site": "ncsa-delta", "repaired": sent},
    }
    path = "/tmp/maple-finding-%d.sock" % os.getpid()
    service = Service(path, answers)
    monkeypatch.setenv("MAPLE_SOCKET", path)
    yield work
    service.close()
    os.unlink(path)


def test_maples_record_tells_what_was_sent_and_what_was_written(remembered: Path) -> None:
    """And how it ended, where no scheduler can be asked any more."""
    (remembered / "slurm-4711.out").write_text("x\n")
    os.utime(remembered / "slurm-4711.out", (5100, 5100))
    (remembered / "job.sh").write_bytes(SCRIPT)
    case = by_job("4711", environ={"PATH": "/proc/nowhere"})
    assert (case.ended.state, case.ended.exit_code, case.ended.nodes) == ("failed", 1, ("n1", "n2"))
    assert case.site.id == "ncsa-delta" and case.before == SCRIPT
    assert case.asked is not None and b"srun -n2" in (case.asked.script or b"")
    assert case.asked.argv == (b"sbatch", b"-N", b"2", b"job.sh")
    assert [os.path.basename(one.path) for one in case.logs] == ["slurm-4711.out"]
    assert any("no scheduler could be asked" in line for line in case.missing)


def test_a_job_that_neither_knows_is_one_line(remembered: Path) -> None:
    """Why nobody could be asked stands in it."""
    with pytest.raises(Complaint) as caught:
        by_job("4712", environ={"PATH": "/proc/nowhere"})
    assert (
        caught.value.message.startswith("job 4712: no scheduler could be asked")
        and "--log FILE" in caught.value.message
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("77", ["slurm-77.out", "slurm-77_3.out", "train.e77", "train.o77", "x-77-gpu.log"]),
        ("77_3", ["slurm-77_3.out", "train.o77.3"]),
        ("77[3].pbs01", ["slurm-77_3.out", "train.o77.3"]),
    ],
)
def test_a_job_that_nobody_knows_is_found_by_its_files_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, expected: list[str]
) -> None:
    """A number that is part of another, a rank, the index of another job's task, data, and another user's files do not
    count.
    """
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    monkeypatch.chdir(tmp_path)
    names = ["slurm-77.out", "train.o77", "train.e77", "x-77-gpu.log", "slurm-77_3.out", "train.o77.3"]
    names += ["slurm-177.out", "slurm-770.out", "model-77.bin", "77", "train.o7", "other-77.log"]
    names += ["slurm-4_77.out", "train.o4.77", "a-4-77.log", "rank_77.log", "x_gpu77.out", "slurm-4_3.out"]
    for name in names:
        (tmp_path / name).write_text("x\n")
    os.mkdir(tmp_path / "dir-77.out")
    if os.getuid() == 0:
        os.chown(tmp_path / "other-77.log", 65534, 65534)
    else:
        os.unlink(tmp_path / "other-77.log")
    case = by_job(job, environ={"PATH": "/proc/nowhere"})
    found = sorted(one.path for one in case.logs)
    assert found == expected and case.ended.id == job and case.ended.state == "unknown"
    assert "reading files with that number in this folder" in case.notes[0]
    with pytest.raises(Complaint):
        by_job("78", environ={"PATH": "/proc/nowhere"})


def test_files_that_the_user_names_are_read_first_and_once(remembered: Path) -> None:
    """A bad one among them is a line."""
    (remembered / "slurm-4711.out").write_text("x\n")
    os.utime(remembered / "slurm-4711.out", (5100, 5100))
    (remembered / "own.log").write_text("x\n")
    names = [str(remembered / "own.log"), str(remembered / "slurm-4711.out"), str(remembered / "nowhere")]
    (remembered / "mine.sh").write_bytes(b"#!/bin/bash\nsrun -n1 x\n")
    case = by_job(
        "4711", environ={"PATH": "/proc/nowhere"}, logs=names, script=str(remembered / "mine.sh"), words=["-N3"]
    )
    assert [one.path for one in case.logs] == names[:2] and "/nowhere: no such file" in case.missing[0]
    assert case.asked is not None and case.asked.script == b"#!/bin/bash\nsrun -n1 x\n"
    assert case.asked.argv == (b"sbatch", b"-N3", os.fsencode(remembered / "mine.sh"))


def complained_as_nobody(ask: Callable[[], Case]) -> str:
    """What a child that is nobody is told; ourselves where we are nobody in particular."""
    if os.getuid() != 0:
        with pytest.raises(Complaint) as caught:
            ask()
        return str(caught.value.message)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.seteuid(65534)
            ask()
        except Complaint as error:
            os.write(write, str(error.message).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said
