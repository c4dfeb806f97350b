"""Recipes of other installers: Ansible's role is run, EasyBuild's file is built."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomllib
from maple_submit_filter import __version__
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PLAYBOOK = ROOT / "build" / "callers-venv" / "bin" / "ansible-playbook"
EB = PLAYBOOK.with_name("eb")
EASYBUILD = ROOT / "packaging" / "easybuild" / f"Maple-{__version__}-GCCcore-14.3.0.eb"
NO_RECIPE = {"ahocorasick-rs"}  # neither has it, and logs are read without it, slower


def wanted(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {asked.name: asked for asked in map(Requirement, lines) if asked.name not in NO_RECIPE}


def test_easybuild_s_file_has_what_it_needs() -> None:
    made: dict[str, Any] = {}
    exec(compile(EASYBUILD.read_text(), str(EASYBUILD), "exec"), made)  # as EasyBuild reads it
    assert (made["name"], made["version"], made["moduleclass"]) == ("Maple", __version__, "tools")
    there = {name.lower() for name, *_ in made["dependencies"]} | {"click", "jsonschema", "rich"}
    assert set(wanted()) <= there
    for path in made["sanity_check_paths"]["files"] + made["sanity_check_paths"]["dirs"]:
        below = re.sub(r"^share/maple/front", "submit_filter/front", path).replace("share/maple/", "")
        assert path.startswith("bin/") or (ROOT / below).exists(), path


SYSTEM_PYTHON = "dependencies = []\nallow_system_deps = [('Python', SYS_PYTHON_VERSION)]"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A modules command, without which EasyBuild does nothing: this machine's, or Debian's package, unpacked."""
    here = [os.environ.get("MODULES_CMD", ""), *map(str, Path("/usr/lib").glob("**/modulecmd.tcl"))]
    found = next((path for path in here if path and os.path.exists(path)), "")
    folder = tmp_path_factory.mktemp("modules")
    if not found and shutil.which("apt-get") and shutil.which("tclsh"):
        subprocess.run(
            ["apt-get", "-qq", "download", "environment-modules"], cwd=folder, capture_output=True, timeout=120
        )
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder], check=True)
        found = next((str(path) for path in folder.glob("**/modulecmd.tcl") if not path.is_symlink()), "")
    if not found:
        pytest.skip("neither a modules command nor Debian's environment-modules could be had; EasyBuild needs one")
    return found


def eb(modules: str, folder: Path, *words: object) -> str:
    """What EasyBuild says to it; it has to succeed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "MODULES_CMD": modules, "EB_PYTHON": str(EB.with_name("python"))}
    always = ["--prefix", folder, "--modules-tool", "EnvironmentModules", "--module-syntax", "Tcl",
              "--allow-use-as-root-and-accept-consequences"]  # fmt: skip
    argv = list(map(str, [EB, *words, *always]))
    done = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


@pytest.mark.skipif(not EB.exists(), reason="EasyBuild is in build/callers-venv: make callers-venv")
@pytest.mark.timeout(900)
def test_easybuild_parses_and_finds_all_it_depends_on(modules: str, tmp_path: Path) -> None:
    """Its own style, and its own easyconfigs for what is named."""
    eb(modules, tmp_path, EASYBUILD, "--check-style")
    named = "".join(eb(modules, tmp_path, EASYBUILD, "--dry-run", "--robot").split())  # it wraps its lines
    for dependency in ("pydantic/2", "Python-bundle-PyPI/", "PyYAML/", "hatchling/"):
        assert "(module:%s" % dependency in named, dependency


@pytest.mark.skipif(not EB.exists(), reason="EasyBuild is in build/callers-venv: make callers-venv")
@pytest.mark.skipif(not os.environ.get("MAPLE_TEST_WHOLE"), reason="make try-packages runs it: minutes")
@pytest.mark.timeout(900)
def test_easybuild_builds_it(modules: str, tmp_path: Path) -> None:
    """By its easyblock, on this Python."""
    sources = ["-c", "import hatchling.build, sys; hatchling.build.build_sdist(sys.argv[1])", str(tmp_path)]
    subprocess.run([sys.executable, *sources], cwd=ROOT, check=True, capture_output=True, timeout=120)
    text = re.sub(r"toolchain = .*", "toolchain = SYSTEM", EASYBUILD.read_text())
    text = re.sub(r"builddependencies = \[.*?\]\n", "", text, flags=re.DOTALL)
    text = re.sub(r"\bdependencies = \[.*?\]", SYSTEM_PYTHON, text, flags=re.DOTALL)
    alone = tmp_path / EASYBUILD.name.replace("-GCCcore-14.3.0", "")
    alone.write_text(text)
    assert "COMPLETED" in eb(modules, tmp_path, alone, "--sourcepath", tmp_path)
    front = tmp_path / "software" / "Maple" / __version__ / "share" / "maple" / "front" / "front"
    assert os.access(front, os.X_OK)


class Play:
    """The role on this host: with an environment that is there, a prefix of the test's own, a sbatch of no use."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "bin"
        real = folder / "real" / "sbatch"
        for each in (self.bin, real.parent):
            each.mkdir()
        real.write_text("#!/bin/sh\nexit 0\n")
        real.chmod(0o755)
        (folder / "play.yml").write_text(
            "- {hosts: localhost, connection: local, gather_facts: false, roles: [{role: maple}]}\n"
        )
        self.variables = {
            "ansible_python_interpreter": "/usr/bin/python3", "maple_site": "ncsa-delta", "maple_mode": "observe",
            "maple_prefix": str(folder / "opt"), "maple_venv": sys.prefix, "maple_bin": str(self.bin),
            "maple_profile": str(folder / "zz-maple.sh"), "maple_more": ["--real-sbatch", str(real)],
        }  # fmt: skip

    def __call__(self, *words: str, **variables: str) -> tuple[int, str]:
        """Return how many tasks changed something, and what was printed."""
        env = {
            **os.environ, "ANSIBLE_ROLES_PATH": str(ROOT / "packaging" / "ansible" / "roles"),
            "ANSIBLE_HOME": str(self.folder / "ansible"), "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_NOCOLOR": "1",
        }  # fmt: skip
        told = json.dumps({**self.variables, **variables})
        argv = [str(PLAYBOOK), "-i", "localhost,", str(self.folder / "play.yml"), "-e", told, *words]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=500)
        changed = re.search(r"changed=(\d+) .*failed=0", done.stdout)
        assert done.returncode == 0 and changed, done.stdout + done.stderr
        return int(changed[1]), done.stdout

    def there(self) -> set[str]:
        """What lies there of Maple."""
        return {
            str(path.relative_to(self.folder)) for path in self.folder.glob("*") if path.name in ("opt", "zz-maple.sh")
        }


@pytest.mark.timeout(600)
def test_the_role_puts_it_there_changes_nothing_twice_and_takes_it_away(tmp_path: Path) -> None:
    """With --check it only says so."""
    play = Play(tmp_path)
    assert play("--check", "--diff")[0] == 2 and play.there() == set()
    assert play()[0] == 2 and play.there() == {"opt", "zz-maple.sh"} and (play.bin / "sbatch").is_symlink()
    assert play()[0] == 0
    assert f"PATH={play.bin}:$PATH" in (tmp_path / "zz-maple.sh").read_text()
    assert play(maple_state="absent")[0] == 2 and not (play.bin / "sbatch").is_symlink()
    assert not (tmp_path / "opt" / "install.json").exists() and not (tmp_path / "zz-maple.sh").exists()
    assert play(maple_state="absent")[0] == 0


@pytest.mark.skipif(not os.environ.get("MAPLE_TEST_WHOLE"), reason="make try-packages runs it: minutes")
@pytest.mark.timeout(900)
def test_the_role_makes_an_environment_of_the_wheel_and_changes_nothing_twice(tmp_path: Path) -> None:
    """By hashes, where none is; the same wheel again is no change, and --check of either makes nothing."""
    wheels = tmp_path / "wheels"
    made = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*made, str(ROOT)], check=True, capture_output=True, timeout=200)
    (wheel,) = wheels.iterdir()
    play = Play(tmp_path)
    play.variables |= {
        "maple_wheel": str(wheel), "maple_lock": str(ROOT / "packaging/setup/daemon.lock"),
        "maple_venv": str(tmp_path / "opt/venv"), "maple_python": sys.executable,
    }  # fmt: skip
    assert play("--check")[0] and play.there() == set()
    assert play()[0] and (tmp_path / "opt/venv/bin/maple-daemon").exists() and (play.bin / "sbatch").is_symlink()
    assert play()[0] == 0 and play("--check")[0] == 0
    assert play(maple_state="absent")[0] and not (play.bin / "sbatch").is_symlink()


def test_a_site_that_is_not_said_is_asked_for(tmp_path: Path) -> None:
    play = Play(tmp_path)
    with pytest.raises(AssertionError, match="set maple_site to the id of a site file"):
        play(maple_site="")
