"""Which files a script writes to: told by playing it through, and looked up in the folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.diagnose.gather import name_patterns
from maple_agents.diagnose.gather.evidence_files import MOST, Gathered, absent
from maple_agents.diagnose.gather.launch_files import Facts, launched, redirected
from maple_agents.diagnose.gather.name_patterns import Walk, Window
from maple_agents.diagnose.gather.script_outputs import play
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

NODES = ("gpu01.site", "gpu02.site")
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2 --job-name=job\n"


def gathered(folder: Path, text: str, nodes: tuple[str, ...] = NODES, scheduler: str = "slurm") -> Gathered:
    """What is found of a script's files in a folder."""
    site, command = (GENERIC_SLURM, b"sbatch") if scheduler == "slurm" else (GENERIC_PBS, b"qsub")
    source = text.encode()
    asked = Submission(scheduler, (command, b"job.sh"), source, "file", b"job.sh", os.fsencode(folder), 0,
                       {b"HOME": os.fsencode(folder)})  # fmt: skip
    known = {b"SLURM_JOB_NAME": b"job", b"SLURM_SUBMIT_DIR": os.fsencode(folder), b"PBS_O_WORKDIR": os.fsencode(folder)}
    played = play(asked, site, {name: value for name, value in known.items() if scheduler.upper()[:3].encode() in name
                                or scheduler == "slurm" and name.startswith(b"SLURM")})  # fmt: skip
    facts = Facts(scheduler, "4711", nodes, str(folder), name_patterns.slurm_values("4711", "job", "me", "", None))
    made = Gathered(Window(), nodes)
    made.sought((*redirected(played, facts), *launched(played, facts)))
    return made


def files(folder: Path, *names: str) -> None:
    """Make files, and the folders that they are in."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")


# Line of the script; files that are there; those that are found as name: role, rank, node.
CASES = {
    "a redirection": ("python t.py > out.log 2> err.log", {"out.log": ("stdout",), "err.log": ("stderr",)}),
    "both": ("srun python t.py &> all.log", {"all.log": ("both",)}),
    "both, spelled out": ("srun python t.py >> all.log 2>&1", {"all.log": ("both",)}),
    "a variable": ('L="logs/$SLURM_JOB_ID.txt"\nsrun python t.py > "$L"', {"logs/4711.txt": ("stdout",)}),
    "the date": ("D=$(date +%F)\nsrun python t.py >& run_$D.log", {"run_2026-11-22.log": ("both",)}),
    "a folder": ("mkdir -p logs && cd logs\nsrun python t.py > a.log", {"logs/a.log": ("stdout",)}),
    "a function": (
        'run() { "$@" > "$1.log" 2>&1; }\nrun srun python t.py', {"srun.log": ("both",)}
    ),
    "a group": ("{ module list; srun python t.py; } > group.log 2>&1", {"group.log": ("both",)}),
    "tee": ("srun python t.py 2>&1 | tee -a one.log two.log", {"one.log": ("both",), "two.log": ("both",)}),
    "tee of errors": ("srun python t.py |& tee err.log", {"err.log": ("both",)}),
    "a filter at the end of a pipe": (
        "srun python t.py 2>&1 | grep -v Warning > kept.log 2> grep.err", {"kept.log": ("both",)}
    ),
    "processes behind tee and exec": (
        "exec > >(sed 's/^/x /' | tee -a job.log)\nsrun python t.py 2>&1 | tee >(cat > copy.log) | tee end.log",
        {"job.log": ("stdout",), "copy.log": ("both",), "end.log": ("both",)},
    ),
    "exec": ("exec > all.log 2>&1\nsrun python t.py", {"all.log": ("both",)}),
    "exec and tee": (
        "exec > >(tee job.log) 2> >(tee job.err >&2)\nsrun x", {"job.log": ("stdout",), "job.err": ("stderr",)}
    ),
    "a file for each rank": (
        "srun bash -c 'python t.py > r.$SLURM_PROCID.out 2>&1'",
        {"r.0.out": ("rank", 0), "r.3.out": ("rank", 3), "r.117.out": ("rank", 117)},
    ),
    "by a variable of the task": (
        "srun bash -c 'L=r.$SLURM_PROCID.out; python t.py > $L'",
        {"r.0.out": ("stdout", None), "r.3.out": ("stdout", None)},
    ),
    "a file for each node": (
        "srun -n2 --ntasks-per-node=1 bash -c 'torchrun t.py > $(hostname).log'",
        {"gpu01.log": ("stdout", None, "gpu01"), "gpu02.log": ("stdout", None, "gpu02")},
    ),
    "a loop over nodes": (
        'for h in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do\nssh $h "cd $PWD; python t.py" > log_$h &\ndone',
        {"log_gpu01": ("stdout", None, "gpu01"), "log_gpu02": ("stdout", None, "gpu02")},
    ),
    "a long loop": (
        "for i in $(seq 0 19); do srun -n1 python t.py > part-$i.log & done; wait",
        {"part-0.log": ("stdout",), "part-7.log": ("stdout",), "part-19.log": ("stdout",)},
    ),
    "srun's own": ("srun -o %x-%j-%2t.out -e %N.err python t.py",
        {"job-4711-03.out": ("stdout", 3), "gpu02.err": ("stderr", None, "gpu02")}),
    "srun's output alone": ("srun --output=o/%t.txt python t.py", {"o/1.txt": ("rank", 1)}),
    "a step's number and a node, both with the same marks between": (
        "srun -o s-%J-%N-%s-%t.out python t.py", {"s-4711.0-gpu02-0-3.out": ("rank", 3, "gpu02")}
    ),
    "another job's step is not meant": ("srun -o s.%J python t.py", {"s.4711.0": ("both",)}),
    "srun's folder counts for what tasks open": (
        "cd a\nsrun -D b -o in-%t.out -e one.err python t.py", {"a/b/in-1.out": ("stdout", 1), "a/one.err": ("stderr",)}
    ),
    "srun's folder from the root": ("srun -D $PWD/b -o %N.out python t.py", {"b/gpu01.out": ("both", None, "gpu01")}),
    "srun in a wrapper": ("time srun -o s.%J.%t python t.py", {"s.4711.0.2": ("rank", 2)}),
    "torchrun": (
        "srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=2 --log-dir L --redirects 3 t.py",
        {"L/none_x/attempt_0/1/error.json": ("error-file",), "L/none_x/attempt_0/1/stderr.log": ("stderr",)},
    ),
    "torchrun by variable": (
        "export PET_LOG_DIR=L\nsrun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=2 t.py",
        {"L/none_x/attempt_2/0/stdout.log": ("stdout",)},
    ),
    "deepspeed": (
        "deepspeed --enable_each_rank_log logs t.py", {"logs/20261122103000_rank12.log": ("rank", 12)}
    ),
    "Open MPI": ("mpirun --output-filename out -np 4 python t.py",
        {"out/1/rank.3/stderr": ("stderr", 3), "out.1.2": ("rank", 2)}),
    "Hydra": ("mpiexec -outfile-pattern o.%r.%h -errfile-pattern e.%r -n 4 python t.py",
        {"o.3.gpu02": ("stdout", 3, "gpu02"), "e.1": ("stderr", 1)}),
    "NCCL's own": (
        "export NCCL_DEBUG_FILE=nccl.%h.%p\nsrun python t.py", {"nccl.gpu01.1234": ("trace", None, "gpu01")}
    ),
    "an error file": ("export TORCHELASTIC_ERROR_FILE=e/err.json\nsrun python t.py", {"e/err.json": ("error-file",)}),
    "a folder that the program is told": (
        "srun python t.py --output_dir=runs/a --lr 1",
        {"runs/a/train.log": ("both",), "runs/a/x/worker.err": ("stderr",)},
    ),
    "a file that the program is told": (
        "srun python t.py --log-file=a.txt --log_path b.txt", {"a.txt": ("both",), "b.txt": ("both",)}
    ),
    "another script": ("bash inner.sh", {"inner.log": ("both",)}),
}  # fmt: skip
NOT_LOGS = {
    "a host file": "scontrol show hostnames $SLURM_JOB_NODELIST > hostfile",
    "a printed file": "echo a > a.json; printf b > b; cat > c <<EOF\nx\nEOF",
    "a command of nodes": "srun hostname > hosts; srun -N2 --ntasks-per-node=1 hostname -s | sort -u > hosts2",
    "what is filtered of a list": "scontrol show hostnames | grep gpu > hostfile; python t.py | sort > hosts",
    "the environment": "env > env.txt; module list 2> /dev/null; nvidia-smi > smi.txt",
    "a loop of echoes": "for h in a b; do echo $h slots=2 >> hostfile; done",
    "srun to the job's output": "srun -o none -e 0 python t.py",
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_script_writes_to_is_found(name: str, tmp_path: Path) -> None:
    """With the stream, the rank and the node that the name tells."""
    line, expected = CASES[name]
    (tmp_path / "inner.sh").write_text("#!/bin/bash\nsrun python t.py > inner.log 2>&1\n")
    files(tmp_path, *expected, "gpu09.err", "log_gpu09", "other.log", "train.txt", "s.47.0", "grep.err")
    made = gathered(tmp_path, HEAD + line + "\n")
    found = {os.path.relpath(one.path, tmp_path): (one.role, one.rank, one.node) for one in made.logs}
    assert found == {name: (*told, None, "")[:3] if len(told) < 3 else told for name, told in _filled(expected)}


def _filled(expected: dict[str, tuple[object, ...]]) -> Iterator[tuple[str, tuple[object, ...]]]:
    for name, told in expected.items():
        yield name, (*told, *(None, "")[len(told) - 1 :])


@pytest.mark.parametrize("name", NOT_LOGS)
def test_data_that_a_script_writes_is_no_log(name: str, tmp_path: Path) -> None:
    """Nor is it missed where it is not there."""
    made = gathered(tmp_path, HEAD + NOT_LOGS[name] + "\n")
    assert (made.logs, made.missing) == ([], [])
    files(tmp_path, "hostfile", "a.json", "b", "c", "hosts", "hosts2", "env.txt", "smi.txt", "0")
    assert gathered(tmp_path, HEAD + NOT_LOGS[name] + "\n").logs == []


def test_what_a_node_keeps_for_itself_is_said(tmp_path: Path) -> None:
    """torchrun's temporary folder is gone with the job."""
    line = "srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=2 -r 3 t.py\n"
    assert "writes to /tmp of each node" in gathered(tmp_path, HEAD + line).missing[0]


def test_what_was_set_at_the_submission_may_be_anything(tmp_path: Path) -> None:
    """`sbatch --export=ALL,LR=3 job.sh`: one file that fits is the job's; of several nobody knows which. A variable
    that the script sets, or gives a default, is what it says.
    """
    line = "A=a\nsrun python t.py > $A.$LR.log 2> ${OTHER:-b}.err; echo $OTHER\n"
    files(tmp_path, "a.3.log", "b.err", "c.err")
    assert [os.path.basename(one.path) for one in gathered(tmp_path, HEAD + line).logs] == ["b.err", "a.3.log"]
    files(tmp_path, "a.4.log")
    made = gathered(tmp_path, HEAD + line)
    assert [os.path.basename(one.path) for one in made.logs] == ["b.err"]
    assert "which of 2 files is this job's is not known" in made.missing[0]


def test_what_libraries_write_unasked_counts_only_where_nothing_else_is_there(tmp_path: Path) -> None:
    """Other jobs of the same folder may write to its like at the same time."""
    run = "outputs/2026-11-22/12-00-01/train.log", "multirun/2026-11-22/12-00-01/3/train.log"
    files(tmp_path, *run, "wandb/run-20261122_1-x/files/output.log", "outputs/best/x/train.log", "seen.log")
    found = {os.path.relpath(one.path, tmp_path) for one in gathered(tmp_path, HEAD + "srun python t.py\n").logs}
    assert found == {*run, "wandb/run-20261122_1-x/files/output.log"}
    (only,) = gathered(tmp_path, HEAD + "srun python t.py > seen.log\n").logs
    assert only.path == str(tmp_path / "seen.log")


def test_a_pbs_script_is_played_as_well(tmp_path: Path) -> None:
    """It starts in the home folder; `cd $PBS_O_WORKDIR` leads to where it was submitted."""
    work = tmp_path / "work"
    files(work, "mpi.log")
    text = "#!/bin/bash\n#PBS -l select=2:ncpus=4\ncd $PBS_O_WORKDIR\nmpiexec -n 8 python t.py > mpi.log 2>&1\n"
    assert [one.path for one in gathered(work, text, scheduler="pbs").logs] == [str(work / "mpi.log")]


def test_two_hundred_files_are_read_and_the_others_counted(tmp_path: Path) -> None:
    """Error files first, then rank 0, then who fell silent first; empty ones last."""
    names = ["r.%d.out" % rank for rank in range(260)]
    files(tmp_path, *names)
    for rank, name in enumerate(names):
        os.utime(tmp_path / name, (2000 - rank, 2000 - rank))
    (tmp_path / "r.259.out").write_text("")
    made = gathered(tmp_path, HEAD + "srun bash -c 'python t.py &> r.$SLURM_PROCID.out'\n")
    ranks = [one.rank for one in made.logs]
    assert len(ranks) == MOST and ranks[0] == 0 and ranks[1:4] == [258, 257, 256] and 259 not in ranks
    assert made.notes == ["60 further log files are not read"]


def test_of_many_files_that_are_not_there_some_are_named(tmp_path: Path) -> None:
    """And the others counted."""
    made = gathered(tmp_path, HEAD + "".join("python t.py > %d.log\n" % number for number in range(50)))
    assert len(made.missing) == 11 and made.missing[-1] == "40 further files that the script names are not there"


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    """A FIFO would wait for ever, a device has no end, a folder is none; a link to a file counts."""
    os.mkfifo(tmp_path / "r.0.out")
    os.symlink("/dev/zero", tmp_path / "r.1.out")
    os.mkdir(tmp_path / "r.2.out")
    os.symlink("gone", tmp_path / "r.3.out")
    files(tmp_path, "real")
    os.symlink("real", tmp_path / "r.4.out")
    made = gathered(tmp_path, HEAD + "srun bash -c 'python t.py &> r.$SLURM_PROCID.out'\n")
    assert [one.rank for one in made.logs] == [4]


def test_files_of_other_times_are_left_alone_and_core_files_named(tmp_path: Path) -> None:
    """A job's own output of another time is said to be so."""
    files(tmp_path, "before.log", "after.log", "within.log", "core.77", "core.old")
    for name, at in (
        ("before.log", 100),
        ("after.log", 9000),
        ("within.log", 5100),
        ("core.77", 5000),
        ("core.old", 9),
    ):
        os.utime(tmp_path / name, (at, at))
    made = Gathered(Window(5000, 6000))
    for name in ("before.log", "within.log", "after.log"):
        made.output((str(tmp_path / name),), "both", "output of the job")
    made.cores([str(tmp_path)])
    assert [os.path.basename(one.path) for one in made.logs] == ["within.log", "after.log"]
    assert "before the job started" in made.missing[0] and "another job may have written it" in made.notes[0]
    assert "core.77" in made.notes[1] and len(made.notes) == 2


def test_why_a_file_is_not_there_is_told_apart(tmp_path: Path) -> None:
    """A folder that is closed is not one that is gone."""
    files(tmp_path, "closed/in/x")
    os.mkdir(tmp_path / "folder")
    for path, says in (("folder", "is a folder"), ("gone/x", "there is no folder"), ("x", "there is no such file")):
        assert says in absent(str(tmp_path / path), "output")
    assert "kept nowhere" in absent("/dev/null", "output")
    os.chmod(tmp_path / "closed", 0)
    if os.getuid() != 0:
        assert "permission denied" in absent(str(tmp_path / "closed/in/y"), "output")
    os.chmod(tmp_path / "closed", 0o755)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("slurm-%j.out", "slurm-4711.out"),
        ("%x.%u.%A.%a", "job.me.4711.4294967294"),
        ("%8j-%03t", "00004711-000"),
        ("%N-%n-%s-%J", "gpu01-0-batch-4711"),
        ("100%%-%j%%t", "100%-4711%t"),
        ("a\\%j", "a%j"),
        ("%q-%j", "%q-4711"),
        ("%12j", "0000004711"),
    ],
)
def test_signs_of_slurm(pattern: str, expected: str) -> None:
    """As sbatch 22.05 fills them in; one that it does not know stays."""
    values = name_patterns.of_batch(name_patterns.slurm_values("4711", "job", "me", "", None), NODES)
    assert name_patterns.text(name_patterns.slurm(pattern, values)) == expected


def test_the_number_of_a_step_ends_where_the_name_of_a_node_begins() -> None:
    """Names of nodes have hyphens too."""
    pattern = name_patterns.expression(name_patterns.slurm("%J-%N-%s-%t", {"j": "7"}))
    found = pattern.fullmatch("7.0-gpu-node-1-0-3")
    assert found is not None and found.groupdict() == {"step": "0", "node": "gpu-node-1", "rank": "3"}


def test_an_array_has_signs_of_its_own() -> None:
    """A task's own number may not be known: then it is any number."""
    values = name_patterns.slurm_values("", "job", "me", "4711", 3)
    assert name_patterns.text(name_patterns.slurm("%A_%a-%2a-%j", values)) == "4711_3-03-*"
    assert name_patterns.slurm("%b", values) == (name_patterns.Wild("", True),)


def test_a_folder_with_too_many_names_is_left(tmp_path: Path) -> None:
    """What may be looked at is counted over all folders."""
    files(tmp_path, *("f%d" % number for number in range(20)))
    walk = Walk(left=5)
    assert len(list(walk.files((str(tmp_path) + "/f", name_patterns.ANY)))) == 5
    assert list(walk.files((str(tmp_path) + "/f", name_patterns.ANY))) == []


@pytest.mark.parametrize(
    "text",
    ["", "#!/bin/bash\n" + "srun x > $(" * 400, "#!/usr/bin/python3\nprint()\n", "\0\0",
     "#!/bin/bash\nsrun x > ~/*/*/*\n",
     "#!/bin/bash\nsrun x > /$A/$B\nsrun y > $C\n", "#!/bin/bash\nsrun x > '" + "a" * 10000 + "'\n",
     "#!/bin/bash\nwhile :; do srun x > a; done\n", "#!/bin/bash\nsrun -o '../../../../%t' x\n"],
)  # fmt: skip
def test_no_script_leads_astray(tmp_path: Path, text: str) -> None:
    """Whatever stands in it, looking ends, and nothing is taken that is not there."""
    made = gathered(tmp_path, text)
    assert made.logs == [] and all("\n" not in line for line in made.missing)
