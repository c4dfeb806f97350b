"""An answer speaks of its job: the values that its lines name, and the lines of the script that have a say in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose import explanation
from maple_agents.diagnose.recognise.particulars import unsaid
from maple_agents.diagnose.values import Diagnosis
from maple_agents.templates.knowledge import meanings

HEAD = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks=4\n#SBATCH --time=9-00:00:00\n#SBATCH --mem=200M\n"


def told(folder: Path, log: str, body: str, state: str = "failed") -> Diagnosis:
    (folder / "job.sh").write_text(HEAD + body)
    (folder / "job.out").write_text(log)
    case = explanation.case_of(None, [str(folder / "job.out")], str(folder / "job.sh"), "generic-slurm", (), state, 1)
    return explanation.explained(case, "off")


@pytest.mark.parametrize(
    ("log", "values"),
    [
        (
            "OSError: [Errno 98] Address already in use\n" * 2 + "RuntimeError: address already in use, port: 29512\n",
            "29512",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "39.39 GiB of which 241.12 MiB is free.\n",
            "39.39 GiB",
        ),
        ("python: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /a/b/_C.so)\n", "/lib64/libc.so.6"),
        ("ERROR: Unable to locate a modulefile for 'pytorch/2.1.0'\n", "pytorch/2.1.0"),
        ("slurmstepd: error: StepId=62.0 exceeded memory limit (238907392 > 209715200), being killed\n", "238907392"),
    ],
)
def test_the_answer_names_its_value(tmp_path: Path, log: str, values: str) -> None:
    """Where the entry's own sentence does not."""
    first = told(tmp_path, log, "srun python train.py\n").causes[0]
    assert values in first.says or values in unsaid(first), (first.cause, first.named)


@pytest.mark.parametrize(
    ("log", "body", "line"),
    [
        (
            "/var/spool/slurmd/job7/slurm_script: line 6: cd: /data/llm: No such file or directory\n",
            "\ncd /data/llm\nsrun python a.py\n",
            6,
        ),
        (
            "srun: error: --cpu-bind=map_cpu: CPU binding outside of job step allocation, allocated CPUs are: 0x3.\n",
            "hostname\nsrun --cpu-bind=map_cpu:0,71 python a.py\n",
            6,
        ),
        (
            "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some "
            "limit)\n",
            "srun python a.py\n",
            3,
        ),
        (
            "ERROR: Unable to locate a modulefile for 'pytorch/2.1.0'\n",
            "module load gcc\nmodule load pytorch/2.1.0\nsrun python a.py\n",
            6,
        ),
        ("[rank0]: ModuleNotFoundError: No module named 'einops'\n", "source venv/bin/activate\nsrun python a.py\n", 5),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'conf/a.yml'\n",
            "srun python a.py --config conf/a.yml\n",
            5,
        ),
    ],
)
def test_the_line_of_the_script_is_named(tmp_path: Path, log: str, body: str, line: int) -> None:
    """The one that the shell named, that holds the value, that was refused, or that the class looks for."""
    told_of = told(tmp_path, log, body)
    assert [one.line for one in told_of.script] == [line], told_of.causes[0]
    assert told_of.script[0].text == (HEAD + body).split("\n")[line - 1]


def test_a_comment_is_no_line_that_has_a_say(tmp_path: Path) -> None:
    """Nor is a value looked for that stands in many lines."""
    log = "ModuleNotFoundError: No module named 'einops'\n"
    assert told(tmp_path, log, "# source venv/bin/activate einops\n").script == ()


def test_a_value_that_a_hostile_log_names_stays_one_short_line(tmp_path: Path) -> None:
    """It is cut, and no control character comes through."""
    log = "ERROR: Unable to locate a modulefile for '%s\x1b[31m'\n" % ("x/" * 4000)
    first = told(tmp_path, log, "srun python a.py\n").causes[0]
    assert all(len(value) <= 200 and "\x1b" not in value for value in first.named.values())


@pytest.mark.parametrize("name", [name for name, one in meanings().items() if one.names])
def test_what_is_looked_for_has_a_name(name: str) -> None:
    """An expression without a group would catch nothing."""
    assert all("(?P<" in pattern for pattern in meanings()[name].names)
