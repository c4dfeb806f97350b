"""Which program a word will be, and whose: what a site file says of its mpirun holds for no other mpirun."""

from __future__ import annotations

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import decide, understood
from maple_submit_filter.launchers.registry import foreign
from maple_submit_filter.plan.build import plan
from maple_submit_filter.play.program_owner import maker
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, LauncherFact
from maple_submit_filter.types.launch_plan import Link
from maple_submit_filter.types.submission import Submission

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4\n"
SITE = GENERIC_SLURM._replace(launchers=(LauncherFact("mpirun", "present", maker="openmpi"),))
PBS = GENERIC_PBS._replace(launchers=(LauncherFact("mpiexec", "present", maker="pals"),))
PBS_HEAD = "#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=4\n#PBS -l place=scatter\n"
ENVIRONMENT = {b"HOME": b"/h", b"PATH": b"/usr/bin:/bin"}


def launched(body: str, environment: dict[bytes, bytes] = ENVIRONMENT) -> Link:
    """The outermost launcher of the one launch line."""
    source = (HEAD + body + "\n").encode()
    job = understood(Submission("slurm", (b"sbatch", b"j"), source, "file", b"j", b"/w", 0, environment), None)
    assert job is not None
    (step,) = plan(job.submission, job.script, job.settings, SITE, job.arguments, job.read).steps
    return step.links[0]


def whose(body: str, environment: dict[bytes, bytes] = ENVIRONMENT) -> str:
    """The maker of the mpirun of the one launch line, "" where that is not certain."""
    link = launched(body, environment)
    return maker(link.argv[0].raw, link.around, SITE)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "module load cuda/12 gcc cmake",
        "module load compilers/gcc",
        "module use /soft/modulefiles",
        "module load conda; conda activate",
        "module load anaconda3\nconda activate base",
        "conda deactivate",
        "export PATH=$PATH:/opt/mine/bin",
        "export PATH=/usr/local/cuda-12.4/bin:$PATH",
        "export LD_LIBRARY_PATH=/opt/mine/lib",
        "source /etc/profile",
        "(module load openmpi; which mpirun)",
        "alias ll='ls -l'",
    ],
)
def test_it_is_the_sites_own_where_nothing_stands_in_front_of_it(before):
    """What brings no mpirun takes nothing from what the site file says."""
    assert whose(before + "\nmpirun -np 8 python t.py") == "openmpi"


@pytest.mark.parametrize(
    "before",
    [
        "module load openmpi/4.1",
        "module load gcc OpenMPI",
        "module load intel/2024",
        "module swap mpich mvapich2",
        "module load foss/2023a",
        "module restore mine",
        "module purge",
        "ml hpcx",
        'module load "$(cat modules)"',
        "conda activate mine",
        "conda activate",
        "module load conda; conda activate mine",
        "source venv/bin/activate",
        ". $VIRTUAL_ENV/bin/activate",
        "source /opt/intel/oneapi/setvars.sh",
        "source ~/.bashrc",
        "source ./nobody_can_read_it.sh",
        'eval "$(spack load --sh openmpi)"',
        "spack load openmpi",
        "export PATH=$HOME/.local/bin:$PATH",
        "PATH=/opt/mine/bin:$PATH",
        "PATH=/opt/mine/bin",
        "[ -d /x ] && module load openmpi",
        "for one in cuda openmpi; do module load $one; done",
        "case $X in a) conda activate mine;; esac",
        "f() { module load openmpi; }; f",
        "alias mpirun='mpirun --oversubscribe'",
    ],
)
def test_it_may_be_anybodys_where_something_may_have_brought_another(before):
    """Also where that happens on one way of several, in a loop, or in a function."""
    assert whose(before + "\nmpirun -np 8 python t.py") == ""


@pytest.mark.parametrize(
    ("line", "maker_there"),
    [
        ("$(which mpirun) -np 8 python t.py", "openmpi"),
        ("command mpirun -np 8 python t.py", "openmpi"),
        ("/opt/mine/mpirun -np 8 python t.py", ""),
        ("$OMPI_ROOT/bin/mpirun -np 8 python t.py", ""),
        ("./mpirun -np 8 python t.py", ""),
        ("PATH=/opt/mine/bin:$PATH mpirun -np 8 python t.py", ""),
        ("env PATH=/opt/mine/bin mpirun -np 8 python t.py", ""),
        ("nohup conda run -n mine mpirun -np 8 python t.py", ""),
        ("uv run mpirun -np 8 python t.py", ""),
        ("apptainer exec i.sif mpirun -np 8 python t.py", ""),
        ("bash -c 'module load openmpi; mpirun -np 8 python t.py'", ""),
        ("bash -c 'mpirun -np 8 python t.py'", "openmpi"),
    ],
)
def test_the_line_itself_may_name_another(line, maker_there):
    """A folder, a PATH for this line alone, an environment, an image, a shell of its own."""
    assert whose(line) == maker_there


def test_a_script_submitted_from_an_environment_may_find_that_ones():
    """sbatch hands on what the submitter had active."""
    line = "mpirun -np 8 python t.py"
    assert whose(line, {**ENVIRONMENT, b"CONDA_PREFIX": b"/h/conda/envs/a"}) == ""
    assert whose(line, {**ENVIRONMENT, b"VIRTUAL_ENV": b"/h/venv"}) == ""


@pytest.mark.parametrize(
    ("before", "name", "strange"),
    [
        ("conda activate mine", b"srun", False),
        ("module load openmpi", b"srun", False),
        ("module load slurm/23", b"srun", False),
        ("module use ~/modules; module load slurm/23", b"srun", True),
        ("export PATH=/opt/mine/bin:$PATH", b"srun", True),
        ("export PATH=/opt/mine/bin:$PATH", b"torchrun", False),
        ("export PATH=.:$PATH", b"torchrun", True),
        ("alias torchrun=echo", b"torchrun", True),
        ("source venv/bin/activate", b"python3.11", False),
    ],
)
def test_what_brings_one_program_need_not_bring_another(before, name, strange):
    """conda has no srun; whoever has torchrun has PyTorch's."""
    assert bool(foreign(name, launched(before + "\nmpirun -np 8 python t.py").around)) == strange


@pytest.mark.parametrize(
    ("line", "strange"),
    [
        ("venv/bin/torchrun --nnodes=1 t.py", False),
        ("$HOME/venv/bin/torchrun --nnodes=1 t.py", False),
        ("./torchrun --nnodes=1 t.py", True),
        ("tools/torchrun --nnodes=1 t.py", True),
    ],
)
def test_a_torchrun_outside_of_any_bin_is_the_users_own_program(line, strange):
    """Nothing is proven of what it would start."""
    link = launched(line)
    assert bool(foreign(link.argv[0].raw, link.around)) == strange


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("module load openmpi", True),
        ("module use /soft/modulefiles; module load openmpi", True),
        ("module use $HOME/modules; module load openmpi", False),
        ("conda activate mine", False),
        ("spack load openmpi", False),
        ("export PATH=/opt/mine/bin:$PATH", False),
        ("module load openmpi; source venv/bin/activate", False),
    ],
)
def test_where_an_unknown_mpirun_puts_its_ranks_is_not_known(before, known):
    """One that was not built for the scheduler, as a site's modules are, starts all of them on the first node."""
    source = (HEAD + before + "\nmpirun -np 8 -ppn 4 python t.py\n").encode()
    asked = Submission("slurm", (b"sbatch", b"j"), source, "file", b"j", b"/w", 0, ENVIRONMENT)
    job = understood(asked, None)
    assert job is not None
    (step,) = plan(job.submission, job.script, job.settings, GENERIC_SLURM, (), None).steps
    assert (step.tasks, step.tasks_per_node) == (8, 4 if known else None)
    bare = understood(asked._replace(script=source.replace(before.encode(), b"true")), None)
    assert bare is not None
    (step,) = plan(bare.submission, bare.script, bare.settings, GENERIC_SLURM, (), None).steps
    assert step.tasks_per_node == 4


@pytest.mark.parametrize(("before", "empty"), [("true", True), ("conda activate mine", False)])
def test_an_unknown_mpiexec_may_set_any_makers_variables(before, empty):
    """Open MPI's name for the rank is surely empty under PALS, and nobody knows under another."""
    body = before + "\nmpiexec -n 8 --ppn 4 bash -c 'RANK=$OMPI_COMM_WORLD_RANK python t.py'\n"
    source = (PBS_HEAD + body).encode()
    job = understood(Submission("pbs", (b"qsub", b"j"), source, "file", b"j", b"/w", 0, {b"HOME": b"/h"}), None)
    assert job is not None
    (step,) = plan(job.submission, job.script, job.settings, PBS, (), None).steps
    ranks = {one.rank for group in step.groups for one in group.processes}
    assert (ranks == {None}) == empty


@pytest.mark.parametrize(("before", "verdict"), [("module list", "repaired"), ("conda activate mine", "findings")])
def test_an_mpiexec_that_may_be_anybodys_takes_no_launchers_place_unasked(before, verdict):
    """A launch template was verified with the site's own: another one may not know a word of it."""
    site = sites.load("alcf-polaris")
    site = site._replace(launch_templates=tuple(one._replace(verified=True) for one in site.launch_templates))
    head = "#!/bin/bash\n#PBS -A me -q debug -l select=2 -l walltime=00:30:00 -l filesystems=home\ncd $PBS_O_WORKDIR\n"
    source = (head + before + "\nsrun -n 8 --ntasks-per-node=4 python t.py\n").encode()
    asked = Submission("pbs", (b"qsub", b"j"), source, "file", b"j", b"/w", 0, ENVIRONMENT)
    decision = decide(asked, site, None)
    assert decision.verdict == verdict and decision.offered is not None
    assert b"\nmpiexec --envall -n 8 --ppn 4 python t.py\n" in (decision.offered.script or b"")
