"""A wrong count is cured where it is written, wherever that is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.answer.fate import offers, suggested
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

from tests.reality.origins import measured, table

# A file beside the script is never changed, so a variable of it that the tasks lack cannot be exported there. In the
# other places four are two mistakes at once: the tasks lack the variable as well.
UNCURED = {"in_a_sourced_file": 7}


def test_wherever_it_is_written() -> None:
    """As many are found and cured as of counts on the line; the change is at the count, or says why it is not."""
    sums = measured()
    print(table(sums))
    assert sums["on_the_line"]["cured"] > 20
    for name, of in sums.items():
        assert of["lost"] == 0, name
        assert of["uncured"] <= UNCURED.get(name, 4), name
        assert of["there"] >= 0.8 * of["cured"], name


HEAD = """\
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
"""
LINE = "srun torchrun --nnodes=2 --nproc_per_node=%s --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py\n"


def offered(before: str, used: str, behind: str = "", files: Mapping[bytes, bytes] = {}) -> tuple[str, tuple[str, ...]]:
    """Return what is offered in place of a script that starts eight workers on four GPUs, without its head; and why."""
    source = (HEAD + before + LINE % used + behind).encode()
    asked = Submission("slurm", (b"sbatch", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    made = decide(asked, GENERIC_SLURM, files.get).offered
    assert made is not None and made.script is not None
    return made.script.decode().removeprefix(HEAD), made.says


@pytest.mark.parametrize(
    "before, used, after",
    [
        ("N=8\n", "$N", "N=4\n"),
        ("export N='8'\n", '"$N"', "export N='4'\n"),
        ("readonly N=8\n", "${N}", "readonly N=4\n"),
        ("N=${WANTED:-8}\n", "$N", "N=${WANTED:-4}\n"),
        ('N="${WANTED:-8}"\n', "$N", 'N="${WANTED:-4}"\n'),
        ("ALL=8\nN=$ALL\n", "$N", "ALL=4\nN=$ALL\n"),
        ("ONE=4\nN=$((ONE * 2))\n", "$N", "ONE=4\nN=4\n"),
        ("N=8\nM=$((N * 2))\n", "$N", "N=4\nM=$((N * 2))\n"),
        ("if [ -d x ]; then N=8; else N=8; fi\n", "$N", "if [ -d x ]; then N=4; else N=4; fi\n"),
        ("counts() {\n  N=8\n}\ncounts\n", "$N", "counts() {\n  N=4\n}\ncounts\n"),
        ("cat > n.sh <<E\nN=8\nE\n. ./n.sh\n", "$N", "cat > n.sh <<E\nN=4\nE\n. ./n.sh\n"),
    ],
)
def test_the_assignment_is_changed(before: str, used: str, after: str) -> None:
    """And the launch line stays as it is."""
    assert offered(before, used)[0] == after + LINE % used


@pytest.mark.parametrize(
    "before, behind",
    [
        ("N=8\n", 'echo "$N" > counts\n'),  # something else may read it
        ("N=8\n", "python tokens.py --workers $N\n"),
        ("N=8\nexport OMP_NUM_THREADS=$N\n", ""),
        ("N=8\nTHREADS=$((N * 2))\n", ""),
        ("N=2\nN=8\n", ""),
    ],
)
def test_a_variable_that_means_more_is_left_alone(before: str, behind: str) -> None:
    """The change is on the line then, and says so where another use is why."""
    script, says = offered(before, "$N", behind)
    assert script == before + LINE % "4" + behind
    assert ("here, because N is used for more in line " in says[0]) == ("N=2" not in before)


@pytest.mark.parametrize("behind", ['echo "$N GPUs"\n', "echo $N >&2\n", "if [ $N -gt 4 ]; then date; fi\n"])
def test_what_is_said_of_a_value_changes_with_it(behind: str) -> None:
    """Else the log would tell another number than the one that is run."""
    assert offered("N=8\n", "$N", behind)[0] == "N=4\n" + LINE % "$N" + behind


def test_the_argument_of_a_function_is_changed() -> None:
    """Where nothing else takes it."""
    script, _ = offered("start() {\n  local n=$1\n  ", "$n", "}\nstart 8\n")
    assert script.endswith("}\nstart 4\n")


def test_advice_is_changed_where_the_value_is_written() -> None:
    """By the same function as what is proven."""
    source = HEAD.replace("\nHEAD", "\nexport HEAD") + (
        'NP=4\nsrun bash -c "accelerate launch --num_processes $NP --num_machines 2 --machine_rank \\$SLURM_NODEID '
        '--main_process_ip $HEAD --main_process_port 29500 train.py"\n'
    )
    asked = Submission("slurm", (b"sbatch", b"job.sh"), source.encode(), "file", b"job.sh", b"/work", 1000, {})
    made = suggested(decide(asked, GENERIC_SLURM, None), asked, GENERIC_SLURM, None).offered
    assert made is not None and made.script == source.replace("NP=4", "NP=8").encode()


def test_a_way_and_what_it_needs_besides_are_one_offer() -> None:
    """No offer leaves a mistake that another would mend, and of one decision there is one offer."""
    source = (HEAD + "N=8\n" + LINE % "$N").replace("--gpus-per-node=4", "--gpus-per-node=8").encode()
    asked = Submission("slurm", (b"sbatch", b"job.sh"), source, "file", b"job.sh", b"/work", 1000, {})
    delta = sites.load("ncsa-delta")
    ways = offers(decide(asked, delta, None), asked, delta, None)
    assert all(not decide(asked._replace(script=way.script), delta, None).repaired for way in ways)
    assert len({way.script for way in ways}) == len(ways) and all(
        (b"N=8" in (way.script or b"")) == (b"node=8" in (way.script or b"")) for way in ways
    )


def test_a_file_beside_the_script_is_named() -> None:
    """It is the user's, and not part of what is submitted."""
    script, says = offered(". ./n.sh\n", "$N", files={b"/work/n.sh": b"export N=8\n"})
    assert script == ". ./n.sh\n" + LINE % "4"
    assert says == ("MPL203 start 4 ranks per node, here, because N is set in n.sh, which Maple leaves alone",)


def test_a_default_that_is_used_there() -> None:
    """The name stays the user's to set."""
    assert offered("", "${MY_COUNT:-8}")[0] == LINE % "${MY_COUNT:-4}"
