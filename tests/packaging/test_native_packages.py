"""Packages, whole: into roots of Debian 12 and 13 without compiler and network, in front of sbatch, and out again.

`make try-packages` makes the packages and the roots (debootstrap), and runs this with `MAPLE_TEST_ROOTS`, the folder of
the roots; rpm puts an .rpm into a root of Debian, for no other system can be had where this is built. What needs no
root is tested of the recipes themselves.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "packaging/native"
ROOTS = os.environ.get("MAPLE_TEST_ROOTS", "")
LATER = "0.9.9"
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
    for script in ("tree.sh", "build.sh", "roots.sh", "postinst", "prerm"):
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


class Root:
    """A system of its own, with one package in front of a sbatch that keeps what it was handed."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.folder, self.package, self.is_deb = folder, package, package.suffix == ".deb"
        (folder / "usr/local/bin/sbatch").write_text(SBATCH)
        (folder / "usr/local/bin/sbatch").chmod(0o755)
        (folder / "tmp/job.sh").write_text(JOB)

    def run(self, line: str) -> str:
        """What a line prints there, without a network and with processes of its own; it has to succeed."""
        alone = ["unshare", "--net", "--mount", "--fork", "--pid", f"--mount-proc={self.folder}/proc"]
        path = "/opt/maple/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        words = [*alone, "chroot", str(self.folder), "sh", "-c", line]
        done = subprocess.run(words, capture_output=True, text=True, timeout=280, env={"PATH": path}, check=False)
        assert done.returncode == 0, line + "\n" + done.stdout + done.stderr
        return done.stdout

    def put(self, package: Path) -> None:
        """Install it, or over an earlier one; rpm knows no package of this root, so it cannot look for Python's."""
        if self.is_deb:
            shutil.copy(package, self.folder / "tmp/maple.deb")
            self.run("dpkg -i /tmp/maple.deb")
            return
        self._rpm("-U", "--force", str(package))

    def remove(self) -> None:
        """Take it out again."""
        if self.is_deb:
            self.run("dpkg -r maple-hpc")
            return
        self._rpm("-e", "maple-hpc")

    def later(self) -> Path:
        """The same package by a later version."""
        if not self.is_deb:
            return self._later_rpm()
        made, package = self.folder / "tmp/later", self.folder / "tmp/later.deb"
        subprocess.run(["dpkg-deb", "-R", self.package, made], check=True)
        for file in (made / "DEBIAN/control", *made.glob("**/maple_submit_filter/__init__.py")):
            file.write_text(re.sub(r"\d+\.\d+\.\d+(?=[\n\"'])", LATER, file.read_text(), count=1))
        words = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", made, package]
        subprocess.run(words, check=True, capture_output=True)
        return package

    def _later_rpm(self) -> Path:
        """Of the tree that the package was made of, as build.sh makes it."""
        top, arch = self.folder / "tmp/later", os.uname().machine
        tree = top / "tree"
        shutil.copytree(ROOT / "build/native" / arch, tree, symlinks=True)
        (tree / "usr/share/zsh/vendor-completions").rename(tree / "usr/share/zsh/site-functions")
        for file in tree.glob("**/maple_submit_filter/__init__.py"):
            file.write_text(re.sub(r"\d+\.\d+\.\d+(?=[\"'])", LATER, file.read_text(), count=1))
        spec = (NATIVE / "maple-hpc.spec").read_text().replace("@VERSION@", LATER).replace("@ARCH@", arch)
        (top / "maple-hpc.spec").write_text(spec)
        defined = {"_topdir": top, "tree": tree, "scripts": NATIVE}
        words = [word for name, value in defined.items() for word in ("--define", f"{name} {value}")]
        argv = ["rpmbuild", "--quiet", "-bb", "--target", arch, *words, str(top / "maple-hpc.spec")]
        subprocess.run(argv, check=True, capture_output=True, timeout=280)
        (package,) = top.glob("RPMS/*/*.rpm")
        return package

    def files(self) -> set[str]:
        """All that lies there but what is of no package."""
        aside = " -o ".join(f"-path /{folder} -prune" for folder in ("proc", "tmp", "var", "root"))
        return set(self.run(f"find / -xdev {aside} -o -print").split("\n"))

    def submitted(self) -> str:
        """What the real sbatch got of the wrong job."""
        assert self.run("cd /tmp && sbatch job.sh") == "Submitted batch job 7\n"
        return (self.folder / "tmp/submitted").read_text()

    def _rpm(self, *words: str) -> None:
        argv = ["rpm", "--root", str(self.folder), "--nodeps", "--noplugins", *words]
        subprocess.run(argv, check=True, capture_output=True, timeout=280)


@pytest.fixture(params=[(suite, kind) for suite in ("bookworm", "trixie") for kind in ("deb", "rpm")], ids="-".join)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Root]:
    """A copy of a root, which goes afterwards."""
    suite, kind = request.param
    if not ROOTS:
        pytest.skip("make try-packages makes packages and roots for it")
    (package,) = (ROOT / "dist").glob("maple*64.%s" % kind)
    folder = tmp_path / "root"
    subprocess.run(["cp", "-a", Path(ROOTS) / suite, folder], check=True)
    yield Root(folder, package)
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


STORE = '/opt/maple/venv/bin/python3 -c "from maple_daemon.store import *; from maple_daemon.store.protocol import *; '
STORE += "s = open_store('/var/lib/maple.db'); %s\""


@pytest.mark.timeout(900)
def test_installed_upgraded_gone_back_and_removed(root: Root) -> None:
    """No compiler, no network; root owns all; a wrong script is mended; settings and memory stay; nothing is left."""
    before = root.files()
    root.run("! command -v gcc && ! command -v cc")
    root.put(root.package)
    assert root.run("find /opt/maple /usr/bin/maple* ! -user root -o ! -group root") == ""
    root.run("maple admin install --prefix /opt/maple --bin /opt/maple/bin --site ncsa-delta --mode repair")
    with open(root.folder / "opt/maple/current/etc/front.conf", "a") as file:
        file.write("helper_ms=20000\n")  # a busy machine is no failure of the package's
    assert "--ntasks-per-node=1" in root.submitted()
    root.run(STORE % "s.count([Counted('2026-11-27', 'MPL301', 'gpu', 'repaired', 'completed', 7)])")
    root.run("maple admin mode warn --prefix /opt/maple")

    root.put(root.later())
    assert "warn" in root.run("maple admin mode --prefix /opt/maple") and root.submitted() == JOB
    assert "7" in root.run(STORE % "assert s.check() == []; print(s.counted()[0].jobs)")
    root.run("maple admin mode repair --prefix /opt/maple")
    root.run("maple admin install --prefix /opt/maple --bin /opt/maple/bin --site ncsa-delta")
    assert LATER in root.run("maple --version") and LATER in os.readlink(root.folder / "opt/maple/current")
    root.run("maple admin rollback --prefix /opt/maple")
    assert LATER not in os.readlink(root.folder / "opt/maple/current")
    assert "--ntasks-per-node=1" in root.submitted()

    root.remove()
    assert root.files() - before == set()
    assert root.submitted() == JOB


def test_the_front_for_arm_is_static_and_hands_over(tmp_path: Path) -> None:
    """Compiled here for the other kind, and run by QEMU: what it execs gets the words as they were."""
    compiler, runs = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static") or ""
    if not (compiler and runs):
        pytest.skip("apt-get install gcc-aarch64-linux-gnu qemu-user-static: neither is part of the set-up")
    made = ["make", "-s", "-C", str(ROOT / "submit_filter/front"), "CC=" + compiler, "BUILD=%s" % tmp_path]
    subprocess.run(made, check=True)
    with open(tmp_path / "front", "rb") as file:
        head = file.read(64)
    assert head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == 183  # EM_AARCH64
    held = subprocess.run(
        ["aarch64-linux-gnu-readelf", "-l", tmp_path / "front"], capture_output=True, text=True, check=True
    )
    assert "INTERP" not in held.stdout
    real = tmp_path / "real"
    real.mkdir()
    (real / "sbatch").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (real / "sbatch").chmod(0o755)
    environ = {"PATH": "%s:/bin" % real, "MAPLE": "off"}
    argv = [runs, "-0", "sbatch", tmp_path / "front", "--wrap", "a  b", "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environ, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "--wrap|a  b|--version|"), done.stderr
