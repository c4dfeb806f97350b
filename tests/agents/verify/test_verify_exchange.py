"""The mini-app in the program's place: only the bytes of the program change, and the plan is the same."""

from __future__ import annotations

import pytest
from maple_agents.ask.verified_runs import CannotVerify
from maple_agents.verify.exchange.exchange import exchanged

from tests.agents.verify.planned import HEAD, again, state

FOLDER = b"/w/.maple-verify-1"
PATH = FOLDER + b"/line-3.py"

# what stands in the script, what stands there afterwards; {} is the mini-app
FORMS = [
    ("srun python train.py --lr 1\n", "srun python {} --lr 1\n"),
    ("srun python3 -u -X dev train.py\n", "srun python3 -u -X dev {}\n"),
    ("srun /opt/env/bin/python3.11 train.py # why\n", "srun /opt/env/bin/python3.11 {} # why\n"),
    ("srun python -m package.train --lr 1\n", "srun python {} package.train --lr 1\n"),
    ("srun python -um package.train\n", "srun python -u {} package.train\n"),
    ("srun python -mpackage.train\n", "srun python {}\n"),
    ('srun python "$PWD/my train.py"\n', 'srun python "{}"\n'),
    ("srun python < train.py\n", "srun python {} < train.py\n"),
    ("srun torchrun --nproc-per-node=2 train.py --x\n", "srun torchrun --nproc-per-node=2 {} --x\n"),
    ("srun torchrun -m --nproc-per-node=2 p.train\n", "srun torchrun  --nproc-per-node=2 {}\n"),
    ("srun torchrun --nproc-per-node=2 --no_python ./a.out\n", "srun torchrun --nproc-per-node=2 --no_python {}\n"),
    ("srun python -m torch.distributed.run train.py\n", "srun python -m torch.distributed.run {}\n"),
    ("srun accelerate launch --num_processes 4 train.py\n", "srun accelerate launch --num_processes 4 {}\n"),
    ("srun deepspeed --no_ssh train.py\n", "srun deepspeed --no_ssh {}\n"),
    ("srun bash -c 'RANK=$SLURM_PROCID python train.py'\n", "srun bash -c 'RANK=$SLURM_PROCID python {}'\n"),
    ("srun ./bind.sh python -u train.py\n", "srun ./bind.sh python -u {}\n"),
    ("srun ./lammps -in x\n", "srun {} -in x\n"),
    ("srun apptainer exec --nv i.sif python train.py\n", "srun apptainer exec --nv i.sif python {}\n"),
    ("mpiexec -n 4 python train.py\n", "mpiexec -n 4 python {}\n"),
    ("srun python \\\n  train.py\n", "srun python \\\n  {}\n"),
]


def exchange(text: bytes) -> bytes:
    before = state(text)
    return exchanged(before, FOLDER, again(before)).source


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_only_the_program_is_another(before, after):
    assert exchange(before.encode()) == HEAD + after.replace("{}", PATH.decode()).encode()


def test_a_program_that_a_variable_names_is_changed_where_it_is_assigned():
    text = b'PROGRAM="train.py --lr 1"\nCOMMAND="python $PROGRAM"\nsrun $COMMAND\n'
    before = state(text)
    made = exchanged(before, FOLDER, again(before))
    assert made.source == HEAD + text.replace(b"train.py", FOLDER + b"/line-5.py")
    assert [line.number for line in made.lines] == [5]


def test_two_lines_that_share_a_variable_share_an_entry():
    before = state(b'P="train.py --lr 1"\nsrun python $P --a\nsrun python $P --b\n')
    made = exchanged(before, FOLDER, again(before))
    assert made.source.count(FOLDER) == 1 and [len(line.steps) for line in made.lines] == [2]


def test_what_prepares_stands_aside_and_what_looks_around_stays():
    text = (
        b"python prepare.py\nsrun hostname\nsrun python train.py\nsrun ./collect --all\nsrun python -c 'import torch'\n"
    )
    before = state(text)
    made = exchanged(before, FOLDER, again(before))
    assert [(line.number, line.trains) for line in made.lines] == [(3, False), (5, True), (6, False)]
    assert b"srun hostname\n" in made.source and b"srun python -c 'import torch'\n" in made.source
    assert b"prepare.py" not in made.source and b"srun " + FOLDER + b"/line-6.py --all\n" in made.source


def test_bytes_that_are_no_utf8_and_a_missing_newline_stay():
    assert exchange(b"# \xff\xfe\r\nsrun python train.py --name '\xe9'") == HEAD + (
        b"# \xff\xfe\r\nsrun python " + FOLDER + b"/line-4.py --name '\xe9'"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"echo hello\n", "no line starts a program"),
        (b"srun hostname\n", "no line starts a program"),
        (b"srun $(cat name)\n", "name is not known"),
        (b"srun python $(cat name)\n", "not named in the script itself"),
        (b"parallel srun python ::: a.py b.py\n", "carries a command elsewhere"),
    ],
)
def test_what_cannot_be_exchanged_is_said_with_its_line(text, says):
    with pytest.raises(CannotVerify, match=says) as error:
        exchange(text)
    assert error.value.remedy


def test_a_folder_that_a_shell_would_read_is_refused():
    before = state(b"srun python train.py\n")
    with pytest.raises(CannotVerify, match="a shell would read"):
        exchanged(before, b"/tmp/$(rm -rf x)", again(before))


def test_an_edit_that_changes_anything_else_is_refused():
    """Should the plan of the changed script be another, nothing is submitted."""
    before, other = state(b"srun python train.py\n"), state(b"srun -n 1 python train.py\n")
    with pytest.raises(CannotVerify, match="would start other processes"):
        exchanged(before, FOLDER, lambda _: other)
