"""Recipes of other installers: Ansible's role is run, EasyBuild's file is built; Spack's asks for what we ask for."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import types
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib
from maple_submit_filter import __version__
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PLAYBOOK = ROOT / "build" / "callers-venv" / "bin" / "ansible-playbook"
EB = PLAYBOOK.with_name("eb")
SPACK = ROOT / "packaging" / "spack" / "packages" / "py-maple-hpc" / "package.py"
EASYBUILD = ROOT / "packaging" / "easybuild" / f"Maple-{__version__}-GCCcore-14.3.0.eb"
NO_RECIPE = {"ahocorasick-rs"}  # neither has it, and logs are read without it, slower


def wanted(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {asked.name: asked for asked in map(Requirement, lines) if asked.name not in NO_RECIPE}


def test_spack_asks_for_what_the_package_asks_for() -> None:
    text = SPACK.read_text()
    compile(text, str(SPACK), "exec")
    assert f'version("{__version__}")' in text
    for name, asked in wanted("daemon", "window").items():
        least = next(iter(asked.specifier)).version
        assert f'depends_on("py-{name}@{least}:"' in text, name


class Recipe:
    """A Spack recipe, run against a stand-in of the directives that Spack's packaging guide documents."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.parent.name
        self.needs: list[str] = []
        self.versions: dict[str, str] = {}
        self.variants: set[str] = set()
        inside: list[str] = []

        @contextlib.contextmanager
        def when(spec: str) -> Iterator[None]:
            assert spec.lstrip("+~") in self.variants, spec
            inside.append(spec)
            yield
            inside.pop()

        def depends_on(spec: str, *, type: str | tuple[str, ...] = ("build", "link"), when: str = "") -> None:
            assert ({type} if isinstance(type, str) else set(type)) <= {"build", "link", "run", "test"}
            self.needs.append(spec)

        def variant(name: str, *, default: bool, description: str) -> None:
            self.variants.add(name)

        def version(text: str, *, sha256: str = "") -> None:
            self.versions[text] = sha256

        guide = types.ModuleType("spack.package")
        for directive in (when, depends_on, variant, version):
            setattr(guide, directive.__name__, directive)
        guide.license = lambda text: None  # type: ignore[attr-defined]
        guide.PythonPackage = type("PythonPackage", (), {})  # type: ignore[attr-defined]
        modules = {"spack": types.ModuleType("spack"), "spack.package": guide}
        with unittest.mock.patch.dict(sys.modules, modules):
            made: dict[str, Any] = {}
            exec(compile(path.read_text(), str(path), "exec"), made)
        of_spack = "".join(word.capitalize() for word in self.name.split("-"))
        self.package = made[of_spack]  # the name that Spack looks for


RECIPES = {path.parent.name: Recipe(path) for path in sorted(SPACK.parents[1].glob("*/package.py"))}
BUILTIN = json.loads(Path(__file__).with_name("spack_builtin.json").read_text())["packages"]


@pytest.mark.parametrize("name", RECIPES)
def test_whatever_a_spack_recipe_asks_for_can_be_had(name: str) -> None:
    """Of a recipe here, or of Spack's own as they were read: by name and by the least version."""
    for spec in RECIPES[name].needs:
        found = re.fullmatch(r"([a-z0-9-]+)(?:@([\d.]+):([\d.]+)?)?", spec)
        assert found, spec
        newest = max(RECIPES[found[1]].versions, key=Version) if found[1] in RECIPES else BUILTIN.get(found[1])
        assert newest is not None, f"{spec}: Spack has none, and no recipe here makes it"
        assert not found[2] or Version(found[2]) <= Version(newest), f"{spec}: the newest is {newest}"


@pytest.mark.parametrize("name", sorted(set(RECIPES) - {"py-maple-hpc"}))
def test_what_spack_fetches_is_what_pip_is_held_to(name: str) -> None:
    """The version and the hash stand in daemon.lock, and so in the same place for both."""
    lock = (ROOT / "packaging" / "setup" / "daemon.lock").read_text()
    ((version, digest),) = RECIPES[name].versions.items()
    block = re.search(r"(?m)^%s==%s .*(?:\n    --hash=\S+(?: .)?)*" % (name.removeprefix("py-"), version), lock)
    assert block and digest in block[0] and version in RECIPES[name].package.pypi


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


@pytest.mark.skipif(not shutil.which("spack"), reason="no spack on PATH; it is on no package registry of this project")
def test_spack_reads_the_recipe_and_its_dependencies(tmp_path: Path) -> None:
    """By its own audit, of a repository of this recipe alone."""
    environ = {**os.environ, "HOME": str(tmp_path), "SPACK_USER_CONFIG_PATH": str(tmp_path)}
    for words in (["repo", "add", str(SPACK.parents[2])], ["audit", "packages", "py-maple-hpc"]):
        done = subprocess.run(["spack", *words], env=environ, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


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
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=200)
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


def test_a_site_that_is_not_said_is_asked_for(tmp_path: Path) -> None:
    play = Play(tmp_path)
    with pytest.raises(AssertionError, match="set maple_site to the id of a site file"):
        play(maple_site="")
