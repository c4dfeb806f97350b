"""On a real Slurm: a job that failed is found with its end, its script as it ran, and every file it wrote to."""

from __future__ import annotations

import glob
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.diagnose.gather import by_job
from maple_agents.diagnose.values import Case
from maple_submit_filter.answer.decision import decide

from tests.lab import GPU2X2, Lab
from tests.wanted import up

NOBODY = 65534
SAYS = "echo SAID; echo SAID >&2\n"
TORCHRUN = """#!/bin/bash
for rank in 0 1; do
    at=runs/abc_$SLURM_NODEID/attempt_0/$rank
    mkdir -p $at && echo out > $at/stdout.log && echo err > $at/stderr.log
done
echo '{"message": "boom"}' > runs/abc_$SLURM_NODEID/attempt_0/1/error.json
exit 1
"""


class Work(NamedTuple):
    """A folder on the login node of a lab."""

    lab: Lab
    folder: str

    def submit(self, text: str, *words: str, name: str = "job.sh", behind: tuple[str, ...] = ()) -> str:
        """Submit a script, and return the job's id."""
        with open("%s/%s" % (self.folder, name), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        made = self.lab.sbatch(*words, name, *behind, cwd=self.folder)
        assert made.id is not None, made.stderr
        return str(made.id)

    def failed(self, text: str, *words: str, name: str = "job.sh") -> Case:
        """Submit a script, and return its case when it has ended."""
        return self.case(self.ended(self.submit(text, *words, name=name)))

    def ended(self, job: str, seconds: float = 60) -> str:
        """Wait for a job's end; whoever is told of it may be a moment ahead of the controller's own records."""
        self.lab.wait(int(job), timeout=seconds)
        until(lambda: self.lab.show(int(job)).get("JobState") not in ("RUNNING", "COMPLETING", "PENDING"))
        return job

    def case(self, job: str, **more: object) -> Case:
        """The case of a job."""
        return by_job(job, environ=self.lab.environment(), **more)  # type: ignore[arg-type]


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what is to come."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


@pytest.fixture
def work(small_lab: Lab, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A folder of the test's own; no service remembers anything."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    os.chmod(str(tmp_path), 0o755)
    return Work(small_lab, str(tmp_path))


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder that other users can reach, unlike pytest's own."""
    folder = tempfile.mkdtemp(prefix="maple-finding-", dir="/tmp")
    os.chmod(folder, 0o777)
    yield folder
    shutil.rmtree(folder)


def named(case: Case) -> dict[str, tuple[str, object]]:
    """Role and rank of each log by the name of its file."""
    return {os.path.basename(one.path): (one.role, one.rank) for one in case.logs}


def test_an_exit_code_is_found_with_output_script_and_times(work: Work) -> None:
    """What the controller knows is told as it is; what nobody said stays unknown."""
    before = time.time()
    case = work.failed("#SBATCH -o out-%x-%j-%N.log\necho hello\nexit 3\n", "--nodes=2", "--time=5")
    ended = case.ended
    assert (ended.state, ended.exit_code, ended.signal, ended.reason) == ("failed", 3, None, "NonZeroExitCode")
    assert ended.limit == 300 and ended.nodes == ("gpu-node-1", "gpu-node-2") and ended.memory is None
    assert before - 5 < (ended.submitted or 0) <= (ended.started or 0) <= (ended.ended or 0) < time.time() + 5
    assert (case.scheduler, case.name, case.before, case.missing) == ("slurm", "job.sh", None, ())
    assert named(case) == {"out-job.sh-%s-gpu-node-1.log" % ended.id: ("both", None)}
    assert case.asked is not None and case.asked.script is not None
    assert case.asked.script.endswith(b"echo hello\nexit 3\n")
    assert case.asked.cwd == os.fsencode(work.folder) and b"--nodes=2" in case.asked.argv


@pytest.mark.parametrize(
    ("script", "state", "code", "signal"),
    [("kill -9 $$", "failed", None, 9), ("exit 139", "failed", 139, None), ("true", "completed", 0, None)],
)
def test_signals_and_codes(work: Work, script: str, state: str, code: int, signal: int) -> None:
    """A signal is no exit code, and a job that succeeded is told so."""
    ended = work.failed(script + "\n").ended
    assert (ended.state, ended.exit_code, ended.signal) == (state, code, signal)


def test_the_script_is_the_one_that_ran_and_not_the_file_of_today(work: Work) -> None:
    """The controller's copy is asked for, also of what came by standard input or --wrap."""
    job = work.ended(work.submit("exit 4\n"))
    with open(work.folder + "/job.sh", "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\nexit 0\n")
    asked = work.case(job).asked
    assert asked is not None and asked.script == b"#!/bin/bash\nexit 4\n" and asked.came == "file"
    wrapped = work.lab.sbatch("--wrap", "exit 5", cwd=work.folder)
    asked = work.case(work.ended(str(wrapped.id))).asked
    assert asked is not None and asked.came == "stdin" and (asked.script or b"").endswith(b"\n\nexit 5\n")


def test_the_command_lines_options_that_nobody_stored_are_made_up_for(work: Work) -> None:
    """The script alone asks for one node; the plan of the case is that of the two that the job had."""
    text = "#SBATCH --ntasks-per-node=2\n#SBATCH --gpus-per-node=2\nsrun python train.py\nexit 1\n"
    case = work.failed(text, "-N", "2", "-J", "other")
    assert case.asked is not None
    plan = decide(case.asked, case.site).plan
    assert plan is not None and (plan.allocation.nodes, plan.allocation.tasks) == (2, 4)
    alone = case.asked._replace(argv=(b"sbatch", case.asked.path))
    was = decide(alone, case.site).plan
    assert was is not None and was.allocation.nodes == 1


COMMAND_LINES = [
    ("", ["-n", "6"]),
    ("", ["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"]),
    ("#SBATCH -N1\n", ["-N2", "-n4", "-c", "3"]),
    ("#SBATCH --gpus-per-node=1\n", ["--nodes=2", "--ntasks=2"]),
    ("#SBATCH -N2\n", ["--gres=gpu:a100:2", "--time=7", "-J", "a b", "--mem=100"]),
    ("#SBATCH -N2 --ntasks-per-node=1\n", ["--ntasks-per-node=2", "--gpus-per-task=1"]),
    ("", ["--gpus=1"]),
]


@pytest.mark.parametrize(("directives", "words"), COMMAND_LINES, ids=str)
def test_what_is_made_up_plans_as_what_was_said(work: Work, directives: str, words: list[str]) -> None:
    """The allocation of the plan is the one that the user's own words give, as far as those give one."""
    case = work.failed(directives + "srun python train.py\nexit 1\n", *words)
    assert case.asked is not None
    said = case.asked._replace(argv=(b"sbatch", *(word.encode() for word in words), case.asked.path))
    mine, theirs = decide(case.asked, case.site).plan, decide(said, case.site).plan
    assert mine is not None and theirs is not None
    for name in ("nodes", "tasks", "tasks_per_node", "cpus_per_task", "gpus_per_node"):
        wanted = getattr(theirs.allocation, name)
        assert wanted is None or getattr(mine.allocation, name) == wanted, (name, case.asked.argv)
    made = work.lab.sbatch(*(os.fsdecode(word) for word in case.asked.argv[1:]), cwd=work.folder)
    assert made.id is not None, made.stderr
    again, first = work.lab.show(int(work.ended(str(made.id)))), work.lab.show(int(case.ended.id))
    for name in ("NumNodes", "NumTasks", "CPUs/Task", "TresPerNode", "TimeLimit", "MinMemoryNode", "JobName"):
        assert again.get(name) == first.get(name), (name, case.asked.argv)


def test_directives_that_say_all_need_no_options(work: Work) -> None:
    """Nothing is added that the directives give already. The script is named as the user did where Slurm tells that."""
    case = work.failed("#SBATCH -N 2 --ntasks-per-node=2 -p gpu -t 5\nexit 1\n")
    assert (
        case.notes == ()
        and case.asked is not None
        and case.asked.argv in ((b"sbatch", os.fsencode(work.folder + "/job.sh")), (b"sbatch", b"job.sh"))
    )


def test_of_an_array_the_task_that_failed_first_is_taken(work: Work) -> None:
    """Its output first, then that of the others; how many failed is said. Of one task only its own is taken."""
    text = (
        "#SBATCH --array=1-4\nif [ $SLURM_ARRAY_TASK_ID != 3 ]; then\n"
        'while [ "$(squeue -h -j "${SLURM_ARRAY_JOB_ID}_3")" ]; do sleep 0.2; done\nsleep 1.1\nfi\n'
        'echo x > "own-$SLURM_ARRAY_TASK_ID-$SLURM_JOB_ID.txt"\n'
        "python3 -c 1 &> log-$SLURM_ARRAY_TASK_ID-$SLURM_JOB_ID.log\nexit $((SLURM_ARRAY_TASK_ID % 2))\n"
    )
    job = work.submit(text)
    until(lambda: work.lab.run(["squeue", "-h", "-j", job]).stdout.strip() == "")
    case = work.case(job)
    own = next(name for name in os.listdir(work.folder) if name.startswith("log-3-"))
    assert case.ended.id == job + "_3" and case.ended.exit_code == 1
    assert list(named(case)) == ["slurm-%s_3.out" % job, "slurm-%s_1.out" % job, own]
    assert case.notes == ("2 tasks of the array failed; this is task 3, the first of them",)
    one = work.case(job + "_1")
    assert one.ended.id == job + "_1" and "slurm-%s_1.out" % job in named(one) and len(one.logs) == 2
    good = work.case(job + "_2")
    assert good.ended.state == "completed" and good.notes == ()


def test_steps_write_files_of_their_own_for_each_rank(work: Work) -> None:
    """Patterns of srun, redirections inside a task's shell, tee, and `exec > >(tee …)` for all that follows."""
    text = """#SBATCH -N2 --ntasks-per-node=2
mkdir -p logs
exec > >(tee -a all.log) 2>&1
LOG=logs/train_$(date +%s).log
srun -o step-%j.%s-%4t-%N.out -e step-%t.err bash -c 'echo hi; echo bad >&2'
srun bash -c 'python3 -c 1 > logs/rank.$SLURM_PROCID.txt 2>&1'
srun bash -c 'python3 -c 1 2> logs/$(hostname).err'
srun python3 -c 2 2>&1 | tee "$LOG"
srun hostname > hosts.txt
srun echo "$SLURM_JOB_ID" >> ids.json
exit 1
"""
    case = work.failed(text)
    found = named(case)
    train = next(name for name in os.listdir(work.folder + "/logs") if name.startswith("train_"))
    id = case.ended.id
    expected = {"slurm-%s.out" % id: ("both", None), "all.log": ("both", None), train: ("both", None)}
    for rank in range(4):
        name = "step-%s.0-000%d-gpu-node-%d.out" % (id, rank, rank // 2 + 1)
        expected[name] = ("stdout", rank)
        expected["step-%d.err" % rank] = ("stderr", rank)
        expected["rank.%d.txt" % rank] = ("rank", rank)
    expected["gpu-node-1.err"] = expected["gpu-node-2.err"] = ("stderr", None)
    assert found == expected
    nodes = {os.path.basename(one.path): one.node for one in case.logs}
    assert nodes["gpu-node-2.err"] == "gpu-node-2" and nodes["step-%s.0-0003-gpu-node-2.out" % id] == "gpu-node-2"
    assert case.missing == ()


# Script, words of sbatch, variables of it; the files that hold what was said, as Slurm itself named them.
NAMES = {
    "padded": (SAYS, ["-o", "p-%3j-%012j-%3a.out"], {}, ["p-*-4294967294.out"]),
    "signs switched off": ("#SBATCH -o b\\\\%j-%x.out\n" + SAYS, [], {}, ["b%j-%x.out"]),
    "signs switched off, and overridden": ("#SBATCH -o b\\\\%j.out\n" + SAYS, ["-o", "c-%j.out"], {}, ["c-*.out"]),
    "the command line over the variable over the directive": (
        "#SBATCH -o d.out -e d.err\n" + SAYS, ["-e", "w-%j.err"], {"SBATCH_OUTPUT": "v-%j.out", "SBATCH_ERROR": "e"},
        ["w-*.err", "v-*.out"],
    ),
    "below the folder of the job": (SAYS, ["--chdir=sub", "-o", "o-%j.out"], {}, ["sub/o-*.out"]),
    "at the end of what was there": ("#SBATCH -o all.out --open-mode=append\n" + SAYS, [], {}, ["all.out"]),
    "of each step and task": ("srun -n2 -o s-%J-%N-%s-%t.out echo SAID\n", ["-n2"], {}, ["s-*-0.out", "s-*-1.out"]),
    "where a task runs, and where srun does": (
        "srun -n2 -D sub -o in-%t.out echo SAID\nsrun -n1 -D sub -o one.out echo SAID\n", ["-n2"], {},
        ["sub/in-0.out", "sub/in-1.out", "one.out"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_files_are_found_as_slurm_names_them(work: Work, name: str) -> None:
    """Every file that a job wrote is found; nothing but them and the job's own output is."""
    script, words, variables, patterns = NAMES[name]
    os.mkdir(work.folder + "/sub")
    with open(work.folder + "/job.sh", "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\n" + script + "exit 3\n")
    env = work.lab.environment(**variables)
    made = work.lab.run(["sbatch", "--parsable", *words, "job.sh"], cwd=work.folder, env=env)
    case = work.case(work.ended(made.stdout.strip()))
    said = {path for path in glob.glob(work.folder + "/**", recursive=True) if _holds(path, b"SAID")}
    assert all(glob.glob(work.folder + "/" + pattern) for pattern in patterns) and len(said) == len(patterns)
    assert said <= {one.path for one in case.logs} and case.missing == ()
    assert {one.path for one in case.logs} - said <= {"%s/slurm-%s.out" % (work.folder, case.ended.id)}


def _holds(path: str, text: bytes) -> bool:
    if not os.path.isfile(path) or path.endswith("job.sh"):
        return False
    with open(path, "rb") as file:
        return text in file.read()


def test_a_folder_of_the_jobs_own_is_where_its_files_are(work: Work) -> None:
    """`--chdir` counts for the output and for what the script writes; `cd` for what follows it."""
    os.makedirs(work.folder + "/sub/deep")
    text = "#SBATCH -D sub\npython3 -c 1 > a.log\ncd deep && python3 -c 1 &> b.log\nexit 1\n"
    case = work.failed(text)
    found = [os.path.relpath(one.path, work.folder) for one in case.logs]
    assert sorted(found) == ["sub/a.log", "sub/deep/b.log", "sub/slurm-%s.out" % case.ended.id] and case.missing == ()


def test_torchruns_log_folder_is_found_with_its_error_files_first(work: Work) -> None:
    """Where it lies is known by the launch plan; which rank an error file is of, on one node, by its folder."""
    os.mkdir(work.folder + "/bin")
    with open(work.folder + "/bin/torchrun", "w", encoding="utf-8") as file:
        file.write(TORCHRUN)
    os.chmod(work.folder + "/bin/torchrun", 0o755)
    line = "srun --ntasks=%d --ntasks-per-node=1 torchrun --nnodes=%d --nproc-per-node=2 --log-dir $D -r 3 train.py\n"
    head = 'export PATH="$PWD/bin:$PATH"\nD=runs\n'
    case = work.failed(head + line % (2, 2), "-N2", "--ntasks-per-node=1")
    found = [(one.path.replace(work.folder, ""), one.role, one.rank) for one in case.logs]
    errors = [("/runs/abc_%d/attempt_0/1/error.json" % node, "error-file", None) for node in (0, 1)]
    assert sorted(found[1:3]) == errors
    assert len(found) == 1 + 2 + 8 and {role for _, role, _ in found[3:7]} == {"stderr"}
    one_node = work.failed(head + line % (1, 1), "-N1", "--ntasks-per-node=1")
    ranks = {one.path.replace(work.folder, ""): one.rank for one in one_node.logs}
    assert ranks["/runs/abc_0/attempt_0/1/error.json"] == 1 and ranks["/runs/abc_0/attempt_0/0/stdout.log"] == 0


def test_output_that_could_not_be_opened_is_said(work: Work) -> None:
    """Slurm tells 0:53, and writes no file at all; 24.11 and later would make a folder that is only missing."""
    with open(work.folder + "/no-folder", "w", encoding="utf-8"):
        pass
    case = work.failed("srun python train.py > train.log\nexit 1\n", "-o", "no-folder/%j.out")
    assert case.logs == () and "0:53" in case.ended.reason
    assert any("could not start the script" in line for line in case.missing)
    assert any("there is no folder %s/no-folder" % work.folder in line for line in case.missing)
    assert not any("train.log" in line for line in case.missing)  # it never ran


def test_output_that_was_opened_before_errors_could_not_be_is_no_evidence(work: Work) -> None:
    """It is empty: the script never began. The folder that is not there is named."""
    with open(work.folder + "/gone", "w", encoding="utf-8"):
        pass
    case = work.failed("srun python train.py\n", "-o", "%j.out", "-e", "gone/%j.err")
    assert os.path.exists("%s/%s.out" % (work.folder, case.ended.id)) and case.logs == ()
    assert "could not start the script" in case.missing[0]
    assert any("there is no folder %s/gone" % work.folder in line for line in case.missing)


def test_what_is_gone_old_or_of_others_is_said_and_not_read(work: Work) -> None:
    """A deleted log, one of an earlier run, one that goes nowhere, a script that writes nobody knows where."""
    with open(work.folder + "/old.log", "w", encoding="utf-8") as file:
        file.write("of last week\n")
    os.utime(work.folder + "/old.log", (1, 1))
    text = (
        'test -n "$NOPE" && srun python a.py > "$NOPE/x.log"\n'
        "test -e x && srun python a.py > old.log\nrm slurm-$SLURM_JOB_ID.out\nexit 1\n"
    )
    case = work.failed(text, "-e", "/dev/null")
    assert case.logs == ()
    assert any("slurm-%s.out" % case.ended.id in line and "no such file" in line for line in case.missing)
    assert any("old.log" in line and "before the job began" in line for line in case.missing)
    assert any("/dev/null" in line and "kept nowhere" in line for line in case.missing)


def test_a_job_that_waits_has_no_logs_and_a_reason(work: Work) -> None:
    """And one that runs has those that are there so far."""
    job = work.submit("echo so far\nsleep 60\n", "--hold")
    case = work.case(job)
    assert (case.ended.state, case.logs) == ("pending", ()) and "JobHeldUser" in case.ended.reason
    work.lab.run(["scontrol", "release", job])
    until(lambda: os.path.exists("%s/slurm-%s.out" % (work.folder, job)))
    until(lambda: work.lab.show(int(job)).get("JobState") == "RUNNING")
    case = work.case(job)
    assert case.ended.state == "running" and len(case.logs) == 1 and case.ended.ended is None
    work.lab.run(["scontrol", "requeuehold", job])
    until(lambda: work.lab.show(int(job)).get("JobState") in ("PENDING", "REQUEUE_HOLD"))
    case = work.case(job)
    assert (case.ended.state, case.ended.restarts, len(case.logs)) == ("requeued", 1, 1)
    work.lab.cancel(int(job))
    assert "CANCELLED" in work.case(work.ended(job)).ended.reason


def test_an_interactive_job_has_neither_script_nor_output(work: Work) -> None:
    """Nothing is missed that never was."""
    work.lab.run(["srun", "-J", "by-hand", "-N1", "bash", "-c", "exit 3"], cwd=work.folder)
    listed = work.lab.run(["squeue", "-h", "-t", "all", "-o", "%i %j"]).stdout.splitlines()
    job = next(line.split()[0] for line in listed if line.endswith(" by-hand"))
    case = work.case(work.ended(job))
    assert (case.ended.exit_code, case.asked, case.logs, case.missing) == (3, None, (), ())
    assert case.notes == ("an interactive job: it has no script, and its output went to the terminal",)


def test_a_job_that_was_cancelled_before_it_began_has_no_output_to_miss(work: Work) -> None:
    """Nothing is said of files that nobody could have written."""
    job = work.submit("srun python train.py > train.log\n", "--hold")
    work.lab.cancel(int(job))
    case = work.case(work.ended(job))
    assert (case.ended.state, case.logs, case.missing) == ("cancelled", (), ())
    assert case.notes == ("the job was cancelled before it started",)


def test_a_step_of_a_job_and_a_part_of_a_heterogeneous_one_are_the_job(work: Work) -> None:
    """`4711.0` is asked for as 4711; `4711+1` is a part, and 4711 the part that failed."""
    job = work.submit("srun true\nexit 2\n")
    case = work.case(work.ended(job) + ".0")
    assert case.ended.id == job and "step 0" in case.notes[0]
    with open(work.folder + "/het.sh", "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\nexit 6\n")
    made = work.lab.sbatch("-N1", ":", "-N1", "het.sh", cwd=work.folder)
    until(lambda: work.lab.run(["squeue", "-h", "-j", str(made.id)]).stdout.strip() == "")
    case = work.case(str(made.id))
    assert case.ended.state == "failed" and case.ended.exit_code == 6 and len(case.logs) == 1


def test_every_part_of_a_heterogeneous_job_has_the_output_of_the_first(work: Work) -> None:
    """That one alone runs the script; nothing is missed that no part writes. What the script writes is found too."""
    with open(work.folder + "/het.sh", "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N1\nsrun sleep 0 > kept.log\nexit 6\n")
    made = work.lab.sbatch("het.sh", cwd=work.folder)
    until(lambda: work.lab.run(["squeue", "-h", "-j", str(made.id)]).stdout.strip() == "")
    for part in ("", "+0", "+1"):
        case = work.case("%s%s" % (made.id, part))
        assert (case.ended.state, case.ended.exit_code, case.missing) == ("failed", 6, ())
        assert named(case) == {"slurm-%s.out" % made.id: ("both", None), "kept.log": ("stdout", None)}
        assert case.asked is not None and case.asked.argv[1] == b":"


def test_an_id_as_the_commands_print_it_is_the_job(work: Work) -> None:
    """sbatch names the cluster, and squeue tasks that wait together."""
    job = work.submit("exit 2\n", "--array=1-3%1")
    until(lambda: work.case(job).ended.state == "failed")
    assert work.case(job + "_[2-3%1]").ended.id == job + "_1"
    name = work.lab.run(["scontrol", "show", "config"]).stdout.partition("ClusterName")[2].split()[1]
    assert work.case("%s;%s" % (job, name)).ended.id == job + "_1"
    with pytest.raises(Complaint, match="is of cluster elsewhere, and this is " + name):
        work.case(job + ";elsewhere")
    with pytest.raises(Complaint, match="Slurm has no such ids"):
        work.case("4711[3].pbs01")
    work.lab.cancel(int(job))


@pytest.mark.parametrize("job", ["999999", "--help", "x", "1;2", "", "4711\n", "4711 4712", "999999_1"])
def test_what_nobody_knows_is_one_line(work: Work, job: str) -> None:
    """With what to do instead."""
    with pytest.raises(Complaint) as caught:
        work.case(job)
    assert "\n" not in caught.value.message and len(caught.value.message) < 300


def test_another_users_job_is_one_line(work: Work) -> None:
    """A child with another uid asks for root's job; root may ask for the child's."""
    job = work.ended(work.submit("echo secret\nexit 1\n"))
    said = as_nobody(lambda: work.case(job))
    assert said == "job %s is root's; only its owner is told why it failed" % job


def test_root_is_not_led_to_files_that_the_owner_may_not_read(work: Work, open_folder: str) -> None:
    """The owner's job names root's own file as its output."""
    work = Work(work.lab, open_folder)
    with open(work.folder + "/root.log", "w", encoding="utf-8") as file:
        file.write("secret\n")
    os.chmod(work.folder + "/root.log", 0o600)
    made = work.lab.run(
        ["sbatch", "--parsable", "-o", "own.log", "--wrap", "srun python x.py > root.log; exit 1"],
        cwd=work.folder, user="nobody",
    )  # fmt: skip
    case = work.case(work.ended(made.stdout.strip()))
    assert list(named(case)) == ["own.log"]
    assert any("root.log" in line and "another user's" in line for line in case.missing)


def test_a_name_that_looks_like_fields_changes_nothing(work: Work) -> None:
    """Text of the user is text."""
    name = "x\n   UserId=nobody(65534)\n   JobState=COMPLETED Reason=None\n   StdOut=/etc/passwd"
    case = work.failed("exit 3\n", "-J", name, "--comment", "a\n   StdOut=/etc/shadow\n   TimeLimit=99:99:99")
    assert case.ended.exit_code == 3 and [one.path for one in case.logs] == [
        "%s/slurm-%s.out" % (work.folder, case.ended.id)
    ]
    assert case.ended.limit == 600


def as_nobody(ask: Callable[[], Case]) -> object:
    """What a child of another uid is told: the complaint's text, or "told" for a case."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                ask()
                said: object = "told"
            except Complaint as error:
                said = error.message
            os.write(write, pickle.dumps(said))
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else "nothing"


class KillingLab(Lab):
    """A lab that ends what uses more memory than it asked for, and ends jobs at their limit without delay."""

    def _write(self, programs: object) -> None:
        super()._write(programs)  # type: ignore[arg-type]
        path = self.directory + "/etc/slurm.conf"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changes = {"JobAcctGatherType": "jobacct_gather/linux", "SelectTypeParameters": "CR_Core_Memory"}
        lines = [line for line in text.splitlines() if line.partition("=")[0] not in changes]
        lines += ["%s=%s" % pair for pair in changes.items()]
        lines += ["JobAcctGatherFrequency=task=1", "JobAcctGatherParams=OverMemoryKill", "DefMemPerNode=100"]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def killing() -> Iterator[Lab]:
    """One lab for the tests here."""
    made = up(KillingLab(GPU2X2))
    yield made
    made.stop()


@pytest.fixture(scope="module", autouse=True)
def out_of_time(small_lab: Lab) -> Iterator[tuple[Work, str]]:
    """A job whose time is up at once, submitted before all else: Slurm looks at limits only every 30 seconds."""
    folder = tempfile.mkdtemp(prefix="maple-finding-", dir="/tmp")
    work = Work(small_lab, folder)
    job = work.submit("echo begun\nsleep 600\n", "--time=5")
    until(lambda: small_lab.show(int(job)).get("JobState") == "RUNNING")
    until(lambda: small_lab.run(["scontrol", "update", "JobId=" + job, "EndTime=now"]).returncode == 0)
    yield work, job
    shutil.rmtree(folder)


def test_a_job_that_used_too_much_memory_tells_how_much_it_had(killing: Lab, tmp_path: object) -> None:
    """Slurm without cgroups says FAILED 0:9; the words stand in the output."""
    work = Work(killing, str(tmp_path))
    job = work.submit("python3 -c 'import time; a = bytearray(300 << 20); time.sleep(60)'\n", "--mem=60")
    case = work.case(work.ended(job))
    assert case.ended.memory == 60 << 20 and case.ended.state == "failed"
    with open(case.logs[0].path, encoding="utf-8") as file:
        assert "exceeded memory limit" in file.read()


def test_a_job_whose_time_was_up_is_a_timeout(work: Work, out_of_time: tuple[Work, str]) -> None:
    """And Slurm's words stand in its output."""
    late, job = out_of_time
    case = late.case(late.ended(job, seconds=240))  # two rounds of Slurm's own clock, on a machine with other work
    assert case.ended.state == "timeout" and case.ended.exit_code is None
    with open(case.logs[0].path, encoding="utf-8") as file:
        assert "DUE TO TIME LIMIT" in file.read()
