"""Every word that a fix writes is there where it is expanded: in the batch shell, in a task, in a container."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from maple_submit_filter.answer.decision import decide, examined, understood
from maple_submit_filter.play.availability import COMMANDS, VARIABLES, missing, noted
from maple_submit_filter.repair.search import State, tried
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.edits import Edit, Safety, Span, apply
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.submission import Submission

from tests.submit_filter import rule_cases
from tests.submit_filter.test_rules_launch import wanted

SLURM = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
PBS = "#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=1\n#PBS -l place=scatter\n"
LAUNCH = rule_cases.cases(rule_cases.OF_LAUNCH)
HOSTS = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
TASK_FILE = "cat > w.sh <<'E'\nexport RANK=«$SLURM_PROCID»\npython t.py\nE\n"


def state(script: bytes, site: Site) -> State:
    """The state of a script, read and played."""
    words = (b"sbatch" if site.scheduler == "slurm" else b"qsub", b"j")
    asked = Submission(site.scheduler, words, script, "file", b"j", b"/w", 0, {b"HOME": b"/h"})
    job = understood(asked, None)
    assert job is not None
    return examined(job, site)


def vetoed(body: str, site: Site = GENERIC_SLURM) -> str:
    """Why a fix may not write what stands between « and », "" where it may."""
    head = SLURM if site.scheduler == "slurm" else PBS
    before, new, behind = (part.encode() for part in re.split("[«»]", head + body + "\n"))
    edit = Edit(Span(len(before), len(before)), new, "a test")
    source, after = before + behind, before + new + behind
    return missing(state(source, site).plan.uses, state(after, site).plan.uses, [edit], after)


@pytest.mark.parametrize(
    "body",
    [
        "A=«$SLURM_JOB_ID» srun python t.py",
        f"A=«{HOSTS}» srun python t.py",
        "«srun --ntasks=2 »torchrun --nnodes=2 t.py",
        "srun bash -c 'RANK=«$SLURM_PROCID» python t.py'",
        'srun bash -c "RANK=«\\$SLURM_PROCID» python t.py"',
        'srun bash -c "A=«$SLURM_JOB_ID» python t.py"',
        "srun bash -c 'A=«$(scontrol show hostnames | head -n 1)» python t.py'",
        "srun --container-image=i bash -c 'RANK=«$SLURM_PROCID» python t.py'",
        "srun apptainer exec i.sif bash -c 'A=«$(hostname)» python t.py'",
        f"srun apptainer exec i.sif bash -c 'A=«'\"{HOSTS}\"'» python t.py'",
        f"srun apptainer exec i.sif python t.py --a=«{HOSTS}»",
        "srun podman-hpc run --mpi i bash -c 'RANK=«$SLURM_PROCID» python t.py'",
        "srun «bash -c 'export RANK=$SLURM_PROCID; exec \"$@\"' bash »python t.py",
        "srun apptainer exec i.sif «bash -c 'export RANK=$SLURM_PROCID; exec \"$@\"' bash »python t.py",
        "#SBATCH --output=«$USER»\nsrun python t.py",
        TASK_FILE + "srun bash w.sh",
        TASK_FILE + "srun apptainer exec i.sif bash w.sh",
        "HEAD=n1\n«export »A=1\nsrun python t.py",
        'export HEAD=n1\nsrun bash -c "python t.py --a=«\\»$HEAD"',
    ],
)
def test_a_word_that_is_there_may_be_written(body):
    """Quotes, backslashes and written scripts are looked through: it counts where the word is expanded."""
    assert vetoed(body) == ""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("srun python t.py --rank=«$SLURM_PROCID»", "$SLURM_PROCID is not available in the batch shell"),
        ('srun bash -c "RANK=«$SLURM_PROCID» python t.py"', "$SLURM_PROCID is not available in the batch shell"),
        ("srun apptainer exec i.sif bash -c 'A=«$(scontrol show hostnames | head -n 1)» python t.py'",
         "scontrol is not available in a container"),
        ("srun --container-image=i bash -c 'A=«$(scontrol show hostnames | head -n 1)» python t.py'",
         "scontrol is not available in a container"),
        ("srun ch-run i -- bash -c 'A=«$(scontrol show hostnames | head -n 1)» python t.py'",
         "scontrol is not available in a container"),
        ("apptainer exec i.sif «srun --ntasks=2 »torchrun --nnodes=2 t.py", "srun is not available in a container"),
        ("srun bash -c '«srun »python t.py'", "srun is not available in a task"),
        ("srun apptainer exec --cleanenv i.sif bash -c 'RANK=«$SLURM_PROCID» python t.py'",
         "$SLURM_PROCID is not available in a container"),
        ("srun podman-hpc run i bash -c 'RANK=«$SLURM_PROCID» python t.py'",
         "$SLURM_PROCID is not available in a container"),
        ("srun env -i bash -c 'RANK=«$SLURM_PROCID» python t.py'",
         "$SLURM_PROCID is not available in a task"),
        ("srun env -u SLURM_PROCID bash -c 'RANK=«$SLURM_PROCID» python t.py'",
         "$SLURM_PROCID is not available in a task"),
        ("A=«$SLURM_NTASKS_PER_SOCKET» srun python t.py",
         "$SLURM_NTASKS_PER_SOCKET is not available in the batch shell"),
        ("srun bash -c 'A=«$OMPI_COMM_WORLD_RANK» python t.py'", "$OMPI_COMM_WORLD_RANK is not available in a task"),
        ("srun bash -c 'A=«$PBS_NODEFILE» python t.py'", "$PBS_NODEFILE is not available in a task"),
        ("srun apptainer run i.sif --rank='«$SLURM_PROCID»'", "it is unknown where $SLURM_PROCID is expanded"),
        ("never() { A=«$SLURM_JOB_ID» python t.py; }\nsrun python t.py",
         "it is unknown where $SLURM_JOB_ID is expanded"),
        ("HEAD=n1\nsrun bash -c \"python t.py --a=«\\»$HEAD\"", "$HEAD is not available in a task"),
        ("export HEAD=n1\nsrun apptainer exec -e i.sif bash -c \"python t.py --a=«\\»$HEAD\"",
         "$HEAD is not available in a container"),
        ("srun apptainer exec i.sif bash -c \"python t.py --a=«\\»$(scontrol show hostnames | head -n 1)\"",
         "scontrol is not available in a container"),
        ("apptainer exec i.sif bash w.sh «$(sbatch w)»", ""),
        ("«apptainer exec i.sif »bash -c 'A=$(scontrol show hostnames | head -n 1) python t.py'",
         "scontrol is not available in a container"),
    ],
)  # fmt: skip
def test_a_word_that_is_not_there_is_vetoed(body, why):
    """Written there, or moved there by a quote, a backslash or a container around it."""
    assert vetoed(body) == why


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("A=«$(head -n 1 $PBS_NODEFILE)» mpiexec -n 2 python t.py", ""),
        (
            "mpiexec -n 2 bash -c 'A=«$(head -n 1 $PBS_NODEFILE)» python t.py'",
            "$PBS_NODEFILE is not available in a task",
        ),
        (
            "apptainer exec i.sif bash -c 'A=«$(head -n 1 $PBS_NODEFILE)» python t.py'",
            "$PBS_NODEFILE is not available in a container",
        ),
        ("mpiexec.mpich -n 2 bash -c 'RANK=«$PMI_RANK» python t.py'", ""),
        ("mpiexec.mpich -n 2 bash -c 'RANK=«$PALS_RANKID» python t.py'", "$PALS_RANKID is not available in a task"),
        ("ssh n2 'A=«$PBS_JOBID» python t.py'", "it is unknown where $PBS_JOBID is expanded"),
    ],
)
def test_pbs_has_its_own_words_and_places(body, why):
    """Its node file is on the first node alone; a rank's names are those of the maker's mpiexec."""
    assert vetoed(body, GENERIC_PBS) == why


def fixes(case: rule_cases.RuleCase) -> list[tuple[State, State, str, tuple[Edit, ...]]]:
    """Every fix of every finding of a case that can be made: the states before and after it, its safety and edits."""
    out = []

    def again(job: Job, source: bytes, argv: tuple[bytes, ...]) -> State | None:
        changed = understood(job.submission._replace(script=source, argv=argv), job.read)
        return examined(changed, case.site) if changed is not None else None

    job = understood(case.submission, None)
    assert job is not None
    before = examined(job, case.site)
    for finding in before.findings:
        for fix in finding.fixes:
            after = tried(before, fix, again)
            if after is not None:
                out.append((before, after, fix.safety, fix.edits))
    return out


GIVEN = rb"(?m)^[ \t]*(?:for|mapfile -t|readarray -t)[ \t]+(\w+)"  # to the batch shell, by the script's own words


@pytest.mark.parametrize("case", [*LAUNCH, *rule_cases.cases()], ids=str)
def test_the_table_speaks_of_every_word_that_a_fix_writes(case):
    """A rule that writes a new word gives it a row, or the veto can say nothing of it."""
    for before, _, _, edits in fixes(case):
        for edit in edits:
            old = before.job.source
            if old.rfind(b"\n#", 0, edit.span.start) == old.rfind(b"\n", 0, edit.span.start) or not edit.new:
                continue  # a directive
            new = edit.new.replace(old[edit.span.start : edit.span.end] or b"\0", b"")
            own = set(before.plan.assigned) | set(re.findall(GIVEN, old[: edit.span.start]))
            assert set(re.findall(rb"\$\{?([A-Za-z_]\w*)", new)) <= set(VARIABLES) | own
            assert set(re.findall(rb"\$\(\s*([a-z]+)|\|\s*([a-z]+)|\A([a-z]+) -", new)) <= {
                tuple(word if at == place else b"" for at in range(3)) for word in COMMANDS for place in range(3)
            }


@pytest.mark.parametrize("case", [case for case in LAUNCH if wanted(case) is not None], ids=str)
def test_no_repair_of_any_case_is_vetoed(case):
    """What is submitted in these cases was judged by hand: each of its words is there."""
    done = decide(case.submission, case.site, None)
    assert done.repaired is not None and not any(" is not available in " in why for _, why in done.held_back)


STUBS = {
    "srun": 'while [[ $1 == -* ]]; do shift; done\nSLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0 exec "$@"\n',
    "apptainer": 'shift 3\nPATH=$IMAGE exec "$@"\n',
    "scontrol": "printf '%s\\n' n1 n2\n",
    "torchrun": 'printf "%s\\n" "$@" >> $TOLD\n',
    "accelerate": 'printf "%s\\n" "$@" >> $TOLD\n',
    "deepspeed": 'printf "%s\\n" "$@" >> $TOLD\n',
    "python": 'printf "%s\\n" "$@" "M=${MASTER_ADDR-n1}" "R=${RANK-0}" >> $TOLD\n',
}
IN_IMAGES = ("torchrun", "accelerate", "deepspeed", "python")
_INTO = re.compile(
    rb"(?m)^((?:[^#\n]*[ \t])?srun\b(?:[ \t]+-[^ \t\n]*)*)[ \t]+(?=torchrun|accelerate|deepspeed|python|bash)"
)


def contained(case: rule_cases.RuleCase) -> bytes | None:
    """The case's script with the tasks of every srun in an image; None where no line is so simple."""
    source = case.submission.script or b""
    made, count = _INTO.subn(rb"\1 apptainer exec --nv i.sif ", source)
    return made if count and b"apptainer" not in source and b"container" not in source else None


def ran(script: bytes, folder: Path) -> tuple[str, list[str]]:
    """What bash says it does not find, and the words that the launchers were given, with stand-ins in place of them."""
    host, image = folder / "host", folder / "image"
    for where, names in ((host, tuple(STUBS)), (image, IN_IMAGES)):
        where.mkdir()
        for name in names:
            (where / name).write_text("#!/bin/bash\n" + STUBS[name])
            (where / name).chmod(0o755)
        for name in ("bash", "head", "tail", "hostname", "cat", "sed", "env", "seq", "sleep", "date"):
            found = next(path for path in (f"/usr/bin/{name}", f"/bin/{name}") if os.path.exists(path))
            (where / name).symlink_to(found)
    environment = {
        "PATH": str(host), "IMAGE": str(image), "TOLD": str(folder / "told"), "HOME": str(folder),
        "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NODEID": "0", "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "2",
        "SLURM_GPUS_ON_NODE": "4", "SLURM_NTASKS_PER_NODE": "1",
    }  # fmt: skip
    done = subprocess.run(["/bin/bash"], input=script, env=environment, cwd=folder, capture_output=True, timeout=20)
    told = folder / "told"
    return done.stderr.decode(), told.read_text().splitlines() if told.exists() else []


CONTAINED = [(case, script) for case in LAUNCH for script in [contained(case)] if script and case.site == GENERIC_SLURM]


@pytest.mark.parametrize(("case", "script"), CONTAINED, ids=[str(case) for case, _ in CONTAINED])
def test_what_is_repaired_around_a_container_finds_its_words_there(case, script, tmp_path):
    """Every case with its tasks put into an image; bash itself judges, with an image that has a shell and no more."""
    done = decide(case.submission._replace(script=script), case.site, None)
    if done.repaired is None or done.repaired.script is None:
        return
    errors, told = ran(done.repaired.script, tmp_path)
    assert "not found" not in errors, errors
    assert not [word for word in told if re.search(r"=\Z|=:\d", word)], told


def test_enough_cases_are_repaired_in_a_container_for_that_to_mean_something():
    """The stand-ins judged at least so many."""
    made = [decide(case.submission._replace(script=script), case.site, None) for case, script in CONTAINED]
    assert sum(one.repaired is not None for one in made) >= 20
    assert Safety.SAFE in {safety for case, _ in CONTAINED for _, _, safety, _ in fixes(case)}


def test_spans_are_found_again_behind_several_edits():
    """A user's word behind two edits, and one between them, stand where they stood."""
    source = (SLURM + "A=$SLURM_JOB_ID\nB=$HOME\nsrun python t.py --a=$A\n").encode()
    edits = [Edit(Span(source.index(one), source.index(one)), b"export ", "a test") for one in (b"A=$S", b"B=$H")]
    after = apply(source, edits)
    uses = [state(one, GENERIC_SLURM).plan.uses for one in (source, after)]
    assert {one[1:4] for one in noted(uses[1])} == {one[1:4] for one in noted(uses[0])}
    assert missing(uses[0], uses[1], edits, after) == ""
