"""What a rule proves wrong is shown in the script, and a carriage return in a message as what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose import explanation
from maple_agents.diagnose.read import cleaned

EARLY = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$head --master_port=29500 a.py
"""


def test_a_silent_hang_is_proven_by_the_line_of_the_script(tmp_path: Path) -> None:
    """Nothing stands in the log but the cancellation; the launch line comes first among the evidence."""
    script, log = tmp_path / "job.sh", tmp_path / "job.out"
    script.write_text(EARLY)
    log.write_text("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22T10:04:22 DUE TO TIME LIMIT ***\n")
    case = explanation.case_of(None, [str(log)], str(script), "generic-slurm", (), "timeout", None)
    first = explanation.explained(case).causes[0]
    assert first.cause == "early_expanded_rank_variable"
    shown = first.evidence[0]
    assert (Path(shown.file).name, shown.line) == ("job.sh", 4)
    assert shown.text == EARLY.splitlines()[3]


def test_an_exception_that_ended_its_process_counts_though_others_train_on(tmp_path: Path) -> None:
    """The second agent of a node dies of its port; the first ones train a few steps before they feel it."""
    script, log = tmp_path / "job.sh", tmp_path / "job.out"
    text = EARLY.replace("ntasks-per-node=1", "ntasks-per-node=2").replace("srun torchrun", "srun bash -c 'torchrun")
    script.write_text(text.replace("a.py", "a.py'").replace("$head", "n1"))
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/bin/torchrun", line 7, in <module>\n    sys.exit(main())\n'
        '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/run.py", line 990, in main\n    run(args)\n'
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n\n"
        "srun: error: n1: task 0: Exited with exit code 1\n"
        "starting rank 0\nstarting rank 1\nstarting rank 2\nstarting rank 3\nreading\nepoch 1/2 loss 0.31\n"
    )
    case = explanation.case_of(None, [str(log)], str(script), "generic-slurm", (), "failed", 1)
    assert explanation.explained(case).causes[0].cause == "wrong_world_size_or_rank"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"env.sh: line 1: set: -\r: invalid option", r"env.sh: line 1: set: -\r: invalid option"),
        (b"error: execve(): bad interpreter(/bin/bash\r): No such file or directory", r"/bin/bash\r): No such file"),
        (b"python: can't open file '/a/train.py\r': [Errno 2] No such file", r"'/a/train.py\r': [Errno 2]"),
        ("env: ‘bash\r’: No such file or directory".encode(), r"bash\r’: No such"),
    ],
)
def test_a_carriage_return_in_a_name_is_shown(line: bytes, shown: str) -> None:
    """A terminal would hide the first half of the line, and with it the cause."""
    assert shown in cleaned(line)


@pytest.mark.parametrize(
    "line", [b" 10%|#   |\r 50%|##  |\r100%|####|", b"step 1\rstep 2\rstep 3: loss 0.4", b"9 %\r: 10 %"]
)
def test_what_is_drawn_anew_shows_its_last_state(line: bytes) -> None:
    """Progress bars keep only what a terminal would show."""
    assert "\\r" not in cleaned(line) and cleaned(line) == line.split(b"\r")[-1].decode()
