"""A package, whole: into a root of Debian without compiler and network, in front of sbatch, and out again.

It takes `MAPLE_TEST_PACKAGE`, one of `make deb rpm` (rpm here puts an .rpm there), and `MAPLE_TEST_ROOT`, that
debootstrap has filled for this test alone (`debootstrap --variant=minbase --include=python3 bookworm FOLDER`): minutes.
What needs neither is tested of the recipes themselves.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "packaging/native"
PACKAGE, FOLDER = os.environ.get("MAPLE_TEST_PACKAGE"), os.environ.get("MAPLE_TEST_ROOT")
JOB = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --partition=gpuA100x4
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 train.py
"""
SBATCH = '#!/bin/sh\necho "Submitted batch job 7"\ncat "$1" >/tmp/submitted\n'


def test_the_scripts_are_posix_shell_and_may_be_started() -> None:
    for script in ("tree.sh", "build.sh", "postinst", "prerm"):
        subprocess.run(["sh", "-n", NATIVE / script], check=True)
        assert os.access(NATIVE / script, os.X_OK), script


def test_the_packages_start_what_the_wheel_starts() -> None:
    """The three programs, by the same functions."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    made = dict(re.findall(r"(maple[\w-]*)=(maple_\w+[\w.]*:\w+)", (NATIVE / "tree.sh").read_text()))
    assert made == scripts


def test_the_pythons_of_the_tree_are_those_of_the_package() -> None:
    """What is built for is what the package asks for, and what its script looks for."""
    built = set(re.search(r"for version in ([\d. ]+);", (NATIVE / "tree.sh").read_text())[1].split())  # type: ignore[index]
    assert built == set(re.findall(r"python(3\.\d+) ", (NATIVE / "postinst").read_text() + " ")) | {"3.11"}
    assert "python3 (>= 3.11), python3 (<< 3.14)" in (NATIVE / "control").read_text()
    assert all(f"python{version}" in (NATIVE / "maple-hpc.spec").read_text() for version in built)


@pytest.mark.skipif(
    not (PACKAGE and FOLDER), reason="MAPLE_TEST_PACKAGE and MAPLE_TEST_ROOT name a package and a root for it"
)
def test_installed_used_and_removed() -> None:
    """No compiler, no network; root owns all; a wrong script is mended; what is gone is gone, and sbatch is sbatch."""
    root = Path(FOLDER or "")

    def run(line: str, code: int = 0) -> str:
        alone = ["unshare", "--net", "--mount", "--fork", "--pid", f"--mount-proc={root}/proc"]
        words = [*alone, "chroot", str(root), "sh", "-c", line]
        environ = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        done = subprocess.run(words, capture_output=True, text=True, timeout=280, env=environ, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def all_files() -> set[str]:
        aside = " -o ".join(f"-path /{folder} -prune" for folder in ("proc", "tmp", "var", "root"))
        return set(run(f"find / -xdev {aside} -o -print").split("\n"))

    (root / "usr/local/bin/sbatch").write_text(SBATCH)
    (root / "usr/local/bin/sbatch").chmod(0o755)
    (root / "tmp/job.sh").write_text(JOB)
    (root / "tmp/maple.deb").write_bytes(Path(PACKAGE or "").read_bytes())

    def package(deb: str, rpm: str) -> None:
        """Let the one program or the other do it; rpm knows no package of this root, so it cannot look for Python's."""
        if (PACKAGE or "").endswith(".deb"):
            run("dpkg " + deb)
            return
        words = ["rpm", "--root", str(root), "--nodeps", "--noplugins", *rpm.split()]
        subprocess.run(words, check=True, capture_output=True, timeout=280)

    before = all_files()
    run("! command -v gcc && ! command -v cc")
    package("-i /tmp/maple.deb", f"-i {PACKAGE}")
    assert run("find /opt/maple /usr/bin/maple* ! -user root -o ! -group root") == ""
    path = "PATH=/opt/maple/bin:/usr/local/bin:$PATH"
    run(f"{path} maple admin install --prefix /opt/maple --bin /opt/maple/bin --site ncsa-delta --mode repair")
    assert run(f"cd /tmp && {path} sbatch job.sh") == "Submitted batch job 7\n"
    assert "--ntasks-per-node=1" in (root / "tmp/submitted").read_text()
    run(f"{path} maple admin mode warn --prefix /opt/maple")
    package("-i /tmp/maple.deb", f"-U --force {PACKAGE}")  # the same again: an upgrade
    assert "warn" in run(f"{path} maple admin mode --prefix /opt/maple")
    package("-r maple-hpc", "-e maple-hpc")
    assert all_files() - before == set()
    assert run(f"cd /tmp && {path} sbatch job.sh") and (root / "tmp/submitted").read_text() == JOB
