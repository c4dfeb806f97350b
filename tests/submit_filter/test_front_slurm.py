"""The double of sbatch is not the judge alone: a real one stores the same script, name and work folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any, Optional

import pytest

from tests.doubles.stand import ASKED, Stand, build
from tests.lab import Lab

SBATCH = shutil.which("sbatch") or "/usr/bin/sbatch"
SAME = ("JobName", "WorkDir", "Command", "NumNodes", "StdOut", "Partition")


@pytest.fixture
def stand(small_lab: Lab, tmp_path: Any) -> Stand:
    """The front before the lab's own sbatch."""
    one = Stand(str(tmp_path), build(), "/bin/true")
    one.helper("keeps", real_sbatch=SBATCH)
    one.write("job.sh", ASKED)
    one.write("sub/deep.sh", ASKED)
    return one


def submit(stand: Stand, lab: Lab, path: str, words: list[str], stdin: Optional[bytes]) -> dict[str, Any]:
    """Submit a held job, and return what Slurm says of it."""
    env = lab.environment(HOME=stand.home)
    line = ["sbatch", "-H", *words]
    done = subprocess.run(line, executable=path, env=env, cwd=stand.work, input=stdin, capture_output=True, timeout=60)
    number = int(re.search(rb"\d+", done.stdout)[0]) if done.returncode == 0 else 0  # type: ignore[index]
    said = (done.returncode, re.sub(rb"\d+", b"N", done.stdout), done.stderr)
    if not number:
        return {"said": said}
    shown = lab.show(number)
    facts = {name: str(shown.get(name)).replace("slurm-%d." % number, "slurm-N.") for name in SAME}
    script = lab.script(number)
    lab.cancel(number)
    return {"said": said, "script": script, **facts}


FORMS: list[tuple[list[str], Optional[bytes]]] = [
    (["job.sh", "a", "b c"], None),
    (["-N2", "-Jx", "./job.sh"], None),
    (["-D", "sub", "deep.sh"], None),
    (["sub/deep.sh"], None),
    ([], ASKED),
    (["-N", "2"], ASKED),
    (["/dev/stdin", "a"], ASKED),
    (["/proc/self/fd/0"], ASKED),
    (["--wrap", "srun hostname"], None),
    (["--wrap=srun hostname", "-N2"], None),
    (["missing.sh"], None),
    (["--bogus"], None),
    (["-"], ASKED),
    (["--test-only", "--nodes=99", "job.sh"], None),
    ([], b""),
    ([], b"srun x\n"),
    (["job.sh", "--version"], None),
]


@pytest.mark.parametrize("words, stdin", FORMS, ids=str)
def test_a_real_sbatch_takes_the_same_job(
    stand: Stand, small_lab: Lab, words: list[str], stdin: Optional[bytes]
) -> None:
    """With Maple in front and without."""
    bare = submit(stand, small_lab, SBATCH, words, stdin)
    assert submit(stand, small_lab, stand.front, words, stdin) == bare


@pytest.mark.parametrize("words, stdin", [one for one in FORMS[:10] if "--test-only" not in one[0]], ids=str)
def test_a_real_sbatch_takes_a_repaired_script(
    stand: Stand, small_lab: Lab, words: list[str], stdin: Optional[bytes]
) -> None:
    """Under the same name, in the same work folder; for a file, Command is the private copy."""
    bare = submit(stand, small_lab, SBATCH, words, stdin)
    stand.helper("fixes", real_sbatch=SBATCH)
    made = submit(stand, small_lab, stand.front, words, stdin)
    assert made["script"].rstrip(b"\n").endswith(b"# fixed")
    assert {name: made[name] for name in SAME if name != "Command"} == {n: bare[n] for n in SAME if n != "Command"}
    was, now = bare["Command"].split(" "), made["Command"].split(" ")
    assert (os.path.basename(was[0]), was[1:]) == (os.path.basename(now[0]), now[1:])
