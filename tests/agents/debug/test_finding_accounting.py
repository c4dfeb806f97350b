"""Jobs that the controller has forgotten: accounting tells of each step, of memory, and has script and submit line."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.diagnose.gather import by_job
from maple_agents.diagnose.gather.sources import from_accounting, from_slurm
from maple_agents.diagnose.values import Case
from maple_submit_filter.answer.decision import decide

HERE = getpass.getuser()
HEAD = "Batch Script for 4711\n--------------------------------------------------------------------------------\n"
SCRIPT = "#!/bin/bash\n#SBATCH --ntasks-per-node=4\nsrun python train.py --lr 0.1 | x\n"
OWN = {
    "JobID": "4711", "JobIDRaw": "4711", "JobName": "job.sh", "User": HERE, "UID": str(os.getuid()), "State": "FAILED",
    "ExitCode": "1:0", "Reason": "None", "Submit": "1763670000", "Start": "1763670010", "End": "1763673610",
    "ElapsedRaw": "3600", "TimelimitRaw": "120", "ReqMem": "200G", "NNodes": "2", "AllocCPUS": "32",
    "NodeList": "n[3-4]", "Partition": "gpu", "QOS": "normal", "WorkDir": "{folder}",
    "SubmitLine": "sbatch -N 2 -o out-%j.log job.sh a b",
}  # fmt: skip
STEPS = (
    {"JobID": "4711.batch", "State": "FAILED", "ExitCode": "1:0", "MaxRSS": "12M", "NodeList": "n3"},
    {"JobID": "4711.extern", "State": "COMPLETED", "ExitCode": "0:0", "MaxRSS": "0", "NodeList": "n[3-4]"},
    {"JobID": "4711.0", "State": "OUT_OF_MEMORY", "ExitCode": "0:125", "MaxRSS": "104857600K", "NodeList": "n[3-4]"},
)


class Forgetful:
    """Commands of a Slurm whose controller has forgotten all jobs."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.work = folder / "bin", folder / "work"
        self.bin.mkdir()
        self.work.mkdir()
        self.say("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
        self.say("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
        self.say("sbatch", "exit 1")

    def say(self, command: str, body: str) -> None:
        """Let a command do that."""
        (self.bin / command).write_text("#!/bin/sh\n%s\n" % body)
        (self.bin / command).chmod(0o755)

    def account(self, *rows: dict[str, str], names: tuple[str, ...] = (), script: str = SCRIPT) -> None:
        """Let sacct know these rows, of which it has the fields *names*."""
        names = names or tuple(dict.fromkeys((*OWN, "MaxRSS", "AdminComment")))
        (self.bin / "names").write_text(" ".join(names) + "\n")
        (self.bin / "script").write_text(HEAD + script if script else "")
        lines = [[row.get(name, "").format(folder=self.work) for name in names] for row in rows]
        (self.bin / "rows").write_text("".join("\x1f".join(line) + "\x1f\n" for line in lines))
        python = (
            "import sys\nnames = open('%s/names').read().split()\nargs = sys.argv[1:]\n"
            "if '--helpformat' in args: print(' '.join(names)); sys.exit()\n"
            "if '-B' in args: print(open('%s/script').read(), end=''); sys.exit()\n"
            "mark = [a for a in args if a.startswith('--delimiter=')][0][12:]\n"
            "wanted = [a for a in args if a.startswith('--format=')][0][9:].split(',')\n"
            "job = args[args.index('-j') + 1]\n"
            "for line in open('%s/rows').read().split('\\n')[:-1]:\n"
            "    row = dict(zip(names, line.split('\\x1f')))\n"
            "    if '-X' in args and '.' in row['JobID']: continue\n"
            "    if row['JobID'].split('.')[0].split('_')[0] != job.split('_')[0]: continue\n"
            "    print(''.join(row[w] + mark for w in wanted))\n"
        ) % (self.bin, self.bin, self.bin)
        (self.bin / "sacct.py").write_text(python)
        self.say("sacct", 'exec python3 "%s/sacct.py" "$@"' % self.bin)

    def case(self, job: str = "4711") -> Case:
        """The case of a job."""
        return by_job(job, environ={"PATH": "%s:/usr/bin:/bin" % self.bin})


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    """A Slurm that has forgotten, and no service."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    return Forgetful(tmp_path)


def written(path: Path, at: float) -> None:
    """A file that was last written at that time."""
    path.write_text("x\n")
    os.utime(path, (at, at))


def test_steps_memory_and_limits_are_told(slurm: Forgetful) -> None:
    """A step that ran out of memory says so, though the job itself only failed."""
    slurm.account(OWN, *STEPS)
    written(slurm.work / "out-4711.log", 1763673600)
    case = slurm.case()
    ended = case.ended
    assert (ended.id, ended.state, ended.exit_code, ended.nodes) == ("4711", "failed", 1, ("n3", "n4"))
    assert (ended.submitted, ended.started, ended.ended) == (1763670000, 1763670010, 1763673610)
    assert (ended.elapsed, ended.limit) == (3600, 7200)
    assert (ended.memory, ended.used_memory) == (100 << 30, 100 << 30)
    assert ended.failed_steps == ("batch: FAILED 1:0 on n3", "0: OUT_OF_MEMORY 0:125 on n[3-4]")
    assert [one.path for one in case.logs] == [str(slurm.work / "out-4711.log")]


def test_the_submission_is_that_of_the_submit_line_and_the_stored_script(slurm: Forgetful) -> None:
    """So the plan has the two nodes that only the command line asked for."""
    slurm.account(OWN, *STEPS)
    asked = slurm.case().asked
    assert asked is not None and asked.script == SCRIPT.encode() and asked.cwd == os.fsencode(str(slurm.work))
    assert asked.argv == (b"sbatch", b"-N", b"2", b"-o", b"out-%j.log", b"job.sh", b"a", b"b")
    plan = decide(asked, slurm.case().site).plan
    assert plan is not None and plan.allocation.nodes == 2


def test_without_submit_line_and_script_the_file_stands_in_and_its_change_is_said(slurm: Forgetful) -> None:
    """No path is known then but that of Maple's record; here there is none, so no script is claimed."""
    slurm.account({**OWN, "SubmitLine": ""}, *STEPS, script="")
    case = slurm.case()
    assert case.asked is None and case.name == "job.sh"
    slurm.account(OWN, *STEPS, script="")
    written(slurm.work / "job.sh", 1763660000)
    assert slurm.case().asked is not None and slurm.case().notes == ()
    written(slurm.work / "job.sh", 1763680000)
    assert "may not be what ran" in slurm.case().notes[0]


@pytest.mark.parametrize(
    ("state", "code", "expected", "words"),
    [
        ("TIMEOUT", "0:0", "timeout", ""),
        ("OUT_OF_MEMORY", "0:125", "out-of-memory", ""),
        ("NODE_FAIL", "0:0", "node-failed", "NODE_FAIL"),
        ("BOOT_FAIL", "0:0", "node-failed", "BOOT_FAIL"),
        ("DEADLINE", "0:0", "timeout", "DEADLINE"),
        ("PREEMPTED", "0:0", "preempted", "PREEMPTED"),
        ("CANCELLED by 1000", "0:0", "cancelled", "CANCELLED by 1000"),
        ("COMPLETED", "0:0", "completed", ""),
    ],
)
def test_ends_have_maples_words_and_the_reason_has_slurms(
    slurm: Forgetful, state: str, code: str, expected: str, words: str
) -> None:
    """What Maple has no word of its own for is kept in Slurm's."""
    slurm.account({**OWN, "State": state, "ExitCode": code, "AdminComment": "node n3: Xid 79"})
    ended = slurm.case().ended
    assert ended.state == expected and words in ended.reason and "Xid 79" in ended.reason


@pytest.mark.parametrize(
    ("text", "nodes", "cpus", "expected"),
    [
        ("200G", "2", "32", 100 << 30),  # of the whole job, since 21.08
        ("4Gn", "2", "32", 4 << 30),
        ("2Gc", "2", "32", 32 << 30),
        ("1000M", "1", "4", 1000 << 20),
        ("0", "1", "4", None),
        ("?", "1", "4", None),
    ],
)
def test_memory_is_that_of_a_node(text: str, nodes: str, cpus: str, expected: int) -> None:
    """Three forms of it have been printed."""
    assert from_accounting.memory(text, nodes, cpus) == expected


def test_a_task_of_an_array_has_a_number_of_its_own(slurm: Forgetful) -> None:
    """`%j` of a task is not the array's id; where nobody tells it, the folder does."""
    task = {**OWN, "JobID": "4711_2", "JobIDRaw": "4713", "SubmitLine": "sbatch --array=1-3 -o %A-%a-%j.log job.sh"}
    slurm.account(task)
    written(slurm.work / "4711-2-4713.log", 1763673600)
    written(slurm.work / "4711-2-4714.log", 1763673600)
    case = slurm.case("4711_2")
    assert [os.path.basename(one.path) for one in case.logs] == ["4711-2-4713.log"]


def test_another_users_job_is_refused(slurm: Forgetful) -> None:
    """Where the site lets everybody see all jobs. Root is answered, and is somebody else here."""
    slurm.account({**OWN, "User": "nobody", "UID": "65534"})
    if os.getuid() == 0:
        assert slurm.case().ended.id == "4711"
        return
    with pytest.raises(Complaint):
        slurm.case()


def test_no_accounting_is_one_line(slurm: Forgetful) -> None:
    """As is one that does not answer in time."""
    slurm.say("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    with pytest.raises(Complaint) as caught:
        slurm.case()
    assert "its controller has forgotten it" in caught.value.message and "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("line", "name", "believed"),
    [
        ("sbatch -N 3 job.sh a b", "job.sh", True),
        ("sbatch -N 3 -J x job.sh", "x", True),
        ("sbatch -N 3 -J a b job.sh", "a b", False),  # -J "a b"
        ("sbatch -N 3 --comment a b job.sh", "job.sh", False),  # --comment "a b": the script is not called b
        ("sbatch -N 3", "sbatch", True),
        ("srun -N 3 x", "x", False),
    ],
)
def test_a_stored_line_is_believed_where_it_gives_the_jobs_name(
    slurm: Forgetful, line: str, name: str, believed: bool
) -> None:
    """Slurm stores no quotes."""
    slurm.account({**OWN, "SubmitLine": line, "JobName": name})
    asked = slurm.case().asked
    assert asked is not None and (b"3" in asked.argv) is believed


def test_a_submit_line_whose_words_cannot_be_told_apart_is_not_believed(slurm: Forgetful) -> None:
    """The stored line has no quotes: what --wrap was given is many words."""
    slurm.account({**OWN, "SubmitLine": "sbatch -N 2 --wrap srun python train.py"})
    asked = slurm.case().asked
    assert asked is not None and asked.came == "stdin" and b"--nodes=2" in asked.argv and b"python" not in asked.argv


def test_an_array_that_the_controller_has_forgotten_is_its_first_failed_task(slurm: Forgetful) -> None:
    """Accounting has a row for each task."""
    rows = [{**OWN, "JobID": "4711_%d" % index, "JobIDRaw": str(4711 + index), "State": state, "End": end,
             "SubmitLine": "sbatch --array=1-3 job.sh", "ExitCode": code}
            for index, state, code, end in ((1, "COMPLETED", "0:0", "1763673610"), (2, "FAILED", "4:0", "1763673640"),
                                            (3, "FAILED", "5:0", "1763673620"))]  # fmt: skip
    slurm.account(*rows)
    for index in (1, 2, 3):
        written(slurm.work / ("slurm-4711_%d.out" % index), 1763673620)
    case = slurm.case("4711")
    assert (case.ended.id, case.ended.exit_code) == ("4711_3", 5)
    assert [os.path.basename(one.path) for one in case.logs] == ["slurm-4711_3.out", "slurm-4711_2.out"]
    assert "2 tasks of the array failed" in case.notes[0]


def test_a_command_that_hangs_is_given_up_and_said(slurm: Forgetful, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the others tell is used."""
    slurm.account(OWN, *STEPS)
    slurm.say("scontrol", "sleep 60")
    monkeypatch.setattr(from_slurm, "SECONDS", 0.3)
    slurm.say("sacct", 'case "$*" in *-B*) sleep 60;; *) exec python3 "%s/sacct.py" "$@";; esac' % slurm.bin)
    case = slurm.case()
    assert case.ended.exit_code == 1 and any("sacct: no answer after" in line for line in case.missing)
