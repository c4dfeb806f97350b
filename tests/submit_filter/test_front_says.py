"""What the front says of a script that it leaves alone, and when it says nothing."""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest

from tests.doubles.stand import ASKED, LIB, PLAIN, Stand, build, compiled


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("recorder")))


@pytest.fixture
def stand(tmp_path: Any, recorder: str) -> Stand:
    """An installation with the real helper, which has time."""
    one = Stand(str(tmp_path / "stand"), build(), recorder)
    one.configure(helper=os.path.join(LIB, "maple_submit_filter", "helper.py"), helper_ms="20000")
    return one


FAN_OUT = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py
"""
LONG = b"#!/bin/bash\n" + b"echo on\n" * 20010 + b"srun python train.py\n"
UNASKED = {
    "no launcher": (PLAIN, {}, b"no launcher is named in the script"),
    "off": (ASKED, {"MAPLE": "off,verbose"}, b"MAPLE=off"),
    "mistyped": (
        ASKED,
        {"MAPLE": "verbose,of"},
        b"MAPLE=of was taken for off (known: off, observe, warn, repair, verbose)",
    ),
    "off in the script": (ASKED.replace(b"\n", b"\n# maple: off\n", 1), {}, b"the script says # maple: off"),
    "no script": (b"", {}, b"read"),
    "longer than is read": (ASKED + b"#" * 600_000, {}, b"longer than 512 KiB"),
    "no bash": (b"#!/usr/bin/perl\n# srun\n", {}, b"not a shell script"),
    "heterogeneous": (b"#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\nsrun x\n", {}, b"heterogeneous"),
    "too many lines": (LONG, {}, b"too long to analyse"),
    "nothing wrong": (b"#!/bin/bash\nsrun hostname\n", {}, b"found nothing wrong"),
}


@pytest.mark.parametrize("case", UNASKED.values(), ids=UNASKED)
def test_verbose_says_why_a_script_was_left_alone(stand: Stand, case: tuple[bytes, dict[str, str], bytes]) -> None:
    """Whatever the reason, in one line on stderr; and without the word there is none."""
    script, said, why = case
    stand.write("mine.sh", script)
    bare, maple = stand.both(["mine.sh"], environment={"MAPLE": "verbose", **said})
    told = maple.stderr[len(bare.stderr) :] if maple.stderr.startswith(bare.stderr) else maple.stderr
    assert b"submitted as written: " in told and why in told.replace(b"\nmaple:  ", b"")
    assert (bare.stdout, bare.exit) == (maple.stdout, maple.exit)
    assert stand.both(["mine.sh"])[1].stderr == bare.stderr


@pytest.mark.parametrize(
    ("said", "asked"), [("of", False), ("OFF", False), ("0", False), ("/opt/maple2024", True), ("", True)]
)
def test_a_word_that_is_none_of_ours_asks_nobody(stand: Stand, said: str, asked: bool) -> None:
    """Who mistypes off is left alone; the path of a program that has the same name means nothing."""
    stand.write("mine.sh", FAN_OUT)
    bare, maple = stand.both(["mine.sh"], environment={"MAPLE": said})
    assert (bare.stdout, bare.stderr, bare.exit) == (maple.stdout, maple.stderr, maple.exit)
    assert (maple.script != bare.script) == asked


def test_more_than_can_be_searched_leaves_the_script_as_written(stand: Stand) -> None:
    """Of names that it may hold by their letters, wherever one looks; that is said, and nobody is asked."""
    stand.helper("fixes")
    fours = b"".join(b"%c%c%c%c" % four for four in itertools.product(b"AB", repeat=4))
    stand.write("job.sh", ASKED + (b"# " + fours + b"\n") * 3500)
    names = ("".join(letters) for letters in itertools.product("AB", repeat=12))
    many = {name: "" for name in itertools.islice((one for one in names if one.encode() not in fours), 2000)}
    bare, maple = stand.both(["job.sh"], environment=many)
    assert bare == maple
    said = stand.run(True, ["job.sh"], environment={**many, "MAPLE": "verbose"}).stderr
    assert b"submitted as written: the script and the environment are too large to be searched" in said
    assert stand.run(True, ["job.sh"]).script.endswith(b"# fixed\n")
