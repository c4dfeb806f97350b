"""Rounds on a PBS of several hosts: two mistakes, two fixes, each submitted by qsub with the user's word."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.agents.debug.lab.disturbing import LISTENER, until_it_listens
from tests.agents.debug.lab.pbs_commands import PbsCommands
from tests.agents.debug.lab.provoking import MAPLE_FIX
from tests.pbs_lab import PAIR, LabError, PbsLab

PORT = "29517"
TWO_MISTAKES = f"""#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l walltime=00:10:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT={PORT}
mpiexec -n 4 -ppn 2 /usr/bin/python3 meet_up.py
"""
MEETS = """import os, socket, time
rank, world = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    met = socket.create_server(("", at[1]))
    there = [met.accept()[0].recv(1) for _ in range(world - 1)]
else:
    for _ in range(100):
        try:
            socket.create_connection(at).sendall(b"x")
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
print(f"rank {rank} of {world} trained")
"""


@contextlib.contextmanager
def port_taken(lab: PbsLab, folder: Path) -> Iterator[None]:
    """Hold the port on the first host while a job runs."""
    enter = lab._up.enter(0, str(folder))
    held = subprocess.Popen(
        [*enter, "/usr/bin/python3", "-c", LISTENER, PORT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until_it_listens(held)
    try:
        yield
    finally:
        held.kill()
        held.wait()


@pytest.fixture(scope="module")
def lab() -> Iterator[PbsLab]:
    """Two hosts of two GPUs, and the real Hydra."""
    try:
        made = PbsLab(PAIR).start()
    except LabError as error:
        pytest.skip(str(error))
    yield made
    made.stop()


@pytest.mark.timeout(300)
def test_two_mistakes_take_two_rounds_of_qsub(lab: PbsLab, tmp_path: Path) -> None:
    """The taken port shows only once the program is found; the job of the second round meets and ends well."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "job.sh").write_text(TWO_MISTAKES)
    (folder / "meet-up.py").write_text(MEETS)
    with PbsCommands(lab, tmp_path / "pbs", beside=partial(port_taken, lab, folder)) as pbs:
        env = pbs.environment(HOME=str(tmp_path))
        asked = partial(subprocess.run, env=env, cwd=folder, capture_output=True, text=True, timeout=200)
        job = asked(["qsub", "job.sh"]).stdout.strip()
        pbs.wait(job)
        done = asked([MAPLE_FIX, job, "--submit", "--rounds", "5", "--json"])
    told = json.loads(done.stdout)
    assert told["cause"]["class"] == "file_not_found", done.stdout
    assert [one["cause"]["class"] for one in told["rounds"]] == ["port_in_use", "none"], done.stdout
    assert (told["rounds"][1]["state"], done.returncode) == ("completed", 0)
    assert pbs.submitted == [["job.sh"], [str(folder / "job.maple.sh")], [str(folder / "job.maple-2.sh")]]
    assert (folder / "job.sh").read_text() == TWO_MISTAKES
    ran = "".join(path.read_text() for path in folder.glob("job.maple-2.sh.o*"))
    assert sorted(ran.split("\n")) == ["", *(f"rank {rank} of 4 trained" for rank in range(4))]
