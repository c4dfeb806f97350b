"""The program and its arguments stay as they were said, whatever starts it."""

from __future__ import annotations

import os
import subprocess

import pytest
from maple_agents.base.slots import Refused
from maple_agents.write.compose.launch_line import launch
from maple_agents.write.composition import Mistaken, checked, compose

from tests.agents.synthesis.plans import complete

ARGUMENTS = (
    """--a='b c' --home "$HOME" --glob=*.txt --empty '' --q "it's" --eq=1=2 --tilde ~/x --dollar '$HOME' \\$HOME"""
)
LAUNCHES = [
    ("ncsa-delta", "ddp"),  # torchrun
    ("ncsa-delta", "accelerate-ddp"),  # accelerate in a shell of its own
    ("olcf-frontier", "ddp"),  # rank by rank
    ("alcf-aurora", "accelerate-ddp"),
]


def line(site: str, paradigm: str, program: str) -> bytes:
    plan = complete(site, nodes=2, paradigm=paradigm, program=program)
    checked(compose(plan), plan.cluster)
    return launch(plan, program.encode()).line


@pytest.mark.parametrize(("site", "paradigm"), LAUNCHES)
def test_arguments_arrive_as_a_shell_would_give_them(site, paradigm, tmp_path):
    """The launch line is run with stand-ins for the launchers: the program gets the words that it would get alone."""
    (tmp_path / "one.txt").touch()
    _stand_ins(tmp_path)
    (tmp_path / "train.py").write_text('#!/bin/bash\nprintf "<%s>" "$@"; printf "\\n"\n')
    (tmp_path / "train.py").chmod(0o755)
    alone = _run("./train.py %s" % ARGUMENTS, tmp_path)
    launched = _run(line(site, paradigm, "train.py %s" % ARGUMENTS).decode(), tmp_path)
    assert launched == alone != ""


def _stand_ins(folder) -> None:
    """Each leaves out its own options and becomes what follows."""
    skip = "#!/bin/bash\nwhile [[ $1 == -* || $1 =~ ^[0-9]+$ || $1 == list:* || $1 == launch ]]; do shift; done\n"
    become = 'case $1 in *.py) exec "./$@";; *) exec "$@";; esac\n'
    for name in ("srun", "mpiexec", "torchrun", "accelerate", "python"):
        (folder / name).write_text(skip + become)
        (folder / name).chmod(0o755)


def _run(text: str, folder) -> str:
    env = {"PATH": "%s:%s" % (folder, os.environ["PATH"]), "HOME": "/home/me"}
    return subprocess.run(["bash", "-c", text], cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("train.py", b" train.py"),
        ("python train.py --x", b" train.py --x"),
        ("python3 -u train.py > log 2>&1", b" train.py > log 2>&1"),
        ("python -m pkg.mod --a=1", b" -m pkg.mod --a=1"),
        ("-m pkg.mod", b" -m pkg.mod"),
        ("train.py | tee log", b" train.py | tee log"),
        ("train.py && echo done", b" train.py && echo done"),
        ("/opt/env/bin/python train.py", b" --no-python /opt/env/bin/python train.py"),
        ("python3.11 train.py", b" --no-python python3.11 train.py"),
        ("python -W ignore train.py", b" --no-python python -W ignore train.py"),
        ("bash run.sh 4", b" --no-python bash run.sh 4"),
        ("train.py \\\n  --lr 1", b" train.py \\\n  --lr 1"),
    ],
)
def test_torchrun_takes_the_place_of_python_alone(program, ending):
    """Any other interpreter, or one with options, is kept; shell operators are the batch shell's."""
    one = line("ncsa-delta", "ddp", program).replace(b" \\\n    ", b" ")
    assert one.split(b'"$MASTER_ADDR:$MASTER_PORT"')[1] == ending


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("train.py", b" bash python train.py"),
        ("python3 -u train.py", b" bash python3 -u train.py"),
        ("/opt/env/bin/python -m pkg.mod", b" bash /opt/env/bin/python -m pkg.mod"),
        ("-m pkg.mod", b" bash python -m pkg.mod"),
        ("./a.out -x", b" bash ./a.out -x"),
    ],
)
def test_rank_by_rank_the_users_own_interpreter_stays(program, ending):
    """A script without one gets python."""
    assert line("olcf-frontier", "ddp", program).replace(b" \\\n    ", b" ").endswith(ending)


def test_what_stands_in_front_of_the_program():
    """A folder is changed to in the batch shell; variables are given to the program alone."""
    made = line("ncsa-delta", "ddp", "cd src && FOO=1 BAR=$X python train.py")
    assert made.startswith(b"cd src && srun ") and b' env FOO=1 "BAR=$X" torchrun ' in made
    assert made.endswith(b" train.py")


@pytest.mark.parametrize("program", ["torchrun --nproc 4 train.py", "srun python train.py", "accelerate launch x.py",
                                     "python -m torch.distributed.run train.py", "for i in 1 2; do python x.py; done",
                                     "python", "python train.py 'unclosed", "   "])  # fmt: skip
def test_what_is_no_program_is_refused(program):
    """A launcher in it would start ranks for each rank."""
    with pytest.raises(Refused):
        line("ncsa-delta", "ddp", program)


def test_a_program_in_the_background_is_waited_for():
    """Else the job would end at once."""
    assert compose(complete("ncsa-delta", program="train.py &")).endswith(b"train.py &\n\nwait\n")


@pytest.mark.parametrize(("site", "words"), [("ncsa-delta", b" apptainer exec --nv img.sif torchrun "),
                                             ("nersc-perlmutter", b" shifter torchrun "),
                                             ("olcf-frontier", b" apptainer exec --rocm img.sif bash ")])  # fmt: skip
def test_a_container_stands_around_what_starts_the_ranks(site, words):
    """In the site's own runtime, with its GPUs; the world is the same."""
    plan = complete(site, nodes=2, paradigm="ddp", container="img.sif")
    script = compose(plan)
    assert words in script.replace(b" \\\n    ", b" ")
    (step,) = checked(script, plan.cluster).plan.steps
    assert [group.world_size for group in step.groups] == [plan.layout.ranks]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("conda env torch", b"\nconda activate torch\n"),
        ("torch", b"\nconda activate torch\n"),
        ("/scratch/me/venv", b"\nsource /scratch/me/venv/bin/activate\n"),
        ("venv ~/env", b"\nsource ~/env/bin/activate\n"),
        ("module load x/1", b"\nmodule load x/1\n"),
        ("module load x; conda activate y", b'\nmodule load x\nsource "$(conda info --base)/etc/profile.d/conda.sh"\n'),
        ("/scratch/my venv", b"\nsource '/scratch/my venv/bin/activate'\n"),
    ],
)
def test_the_users_own_environment(said, wanted):
    """A conda environment, a venv, a module; the plan is known behind it."""
    plan = complete("ncsa-delta", nodes=2, environment=said)
    script = compose(plan)
    assert wanted in script
    assert [group.world_size for step in checked(script, plan.cluster).plan.steps for group in step.groups] == [8]


@pytest.mark.parametrize("said", ["x; rm -rf /", "$(id)", "a\nb", "x y z"])
def test_an_environment_is_no_way_to_a_command(said):
    """What is neither name nor path is refused."""
    with pytest.raises(Refused):
        compose(complete("ncsa-delta", environment=said))


def test_a_script_that_breaks_a_rule_is_not_handed_over():
    """One node too few on the launch line is our mistake, said in one line."""
    plan = complete("ncsa-delta", nodes=2)
    script = compose(plan).replace(b"--nnodes=2", b"--nnodes=3")
    with pytest.raises(Mistaken, match="MPL"):
        checked(script, plan.cluster)


def test_a_launcher_that_the_site_advises_against_is_taken_where_it_was_said():
    """Then the script says so, and nobody is told of it at every submission."""
    plan = complete("olcf-frontier", nodes=2, launcher="torchrun")
    assert b"\n# maple: ignore MPL308\n" in compose(plan) and checked(compose(plan), plan.cluster)
    assert any(line.startswith("torchrun: ") for line in plan.advice)
    assert b"MPL308" not in compose(complete("olcf-frontier", nodes=2))
