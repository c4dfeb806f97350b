"""Spack's recipes: by the rules of its audit and packaging guide, and built with its own words to pip.

No registry of this project has Spack. What its audit asks of a recipe is asked here of what the recipe says; and each
archive is fetched by the recipe's hash and built, without a network, in an environment of what the recipe names.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import types
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from maple_submit_filter import __version__
from packaging.version import Version

from tests.packaging.test_recipes import NO_RECIPE, wanted

ROOT = Path(__file__).parents[2]
OURS = "py-maple-hpc"
TOP = ROOT / "packaging" / "spack"
BUILTIN = json.loads(Path(__file__).with_name("spack_builtin.json").read_text())["packages"]
NOT_OF_PIP = {"c", "gmake", "python"}  # a compiler, make and an interpreter are the machine's


class Need(NamedTuple):
    """What a recipe depends on: *name*, from *least* up to *most* ("" for any), for which *types*, and *when*."""

    name: str
    least: str
    most: str
    types: frozenset[str]
    when: str


class Recipe:
    """A recipe, run against a stand-in of the directives that Spack's packaging guide documents."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.parent.name
        self.needs: list[Need] = []
        self.versions: dict[str, str] = {}
        self.variants: dict[str, str] = {}
        self.licenses: list[str] = []
        inside = [""]

        @contextlib.contextmanager
        def when(spec: str) -> Iterator[None]:
            inside.append(spec)
            yield
            inside.pop()

        def depends_on(spec: str, *, type: str | tuple[str, ...] = ("build", "link"), when: str = "") -> None:
            found = re.fullmatch(r"([a-z0-9-]+)(?:@([\d.]+):([\d.]+)?)?", spec)
            assert found, spec
            kinds = frozenset({type} if isinstance(type, str) else type)
            self.needs.append(Need(found[1], found[2] or "", found[3] or "", kinds, when or inside[-1]))

        def variant(name: str, *, default: bool, description: str) -> None:
            self.variants[name] = description

        def version(text: str, *, sha256: str = "") -> None:
            self.versions[text] = sha256

        guide = types.ModuleType("spack.package")
        for directive in (when, depends_on, variant, version):
            setattr(guide, directive.__name__, directive)
        guide.license = self.licenses.append  # type: ignore[attr-defined]
        guide.PythonPackage = type("PythonPackage", (), {"manual_download": False, "homepage": ""})  # type: ignore[attr-defined]
        modules = {"spack": types.ModuleType("spack"), "spack.package": guide}
        with unittest.mock.patch.dict(sys.modules, modules):
            made: dict[str, Any] = {}
            exec(compile(path.read_text(), str(path), "exec"), made)
        of_spack = "".join(word.capitalize() for word in self.name.split("-"))
        self.package = made[of_spack]  # the name that Spack looks for

    @property
    def newest(self) -> str:
        """The version that Spack takes."""
        return max(self.versions, key=Version)


RECIPES = {path.parent.name: Recipe(path) for path in sorted((TOP / "packages").glob("*/package.py"))}
each_recipe = pytest.mark.parametrize("name", RECIPES)


def newest(name: str) -> str | None:
    """The newest version that Spack would find of a package, "" for one whose version does not matter."""
    return RECIPES[name].newest if name in RECIPES else BUILTIN.get(name)


def test_spack_asks_for_what_the_package_asks_for() -> None:
    recipe = RECIPES[OURS]
    assert recipe.newest == __version__
    asked = {(need.name, need.least) for need in recipe.needs}
    for name, of_pip in wanted("daemon", "window").items():
        assert (f"py-{name}", next(iter(of_pip.specifier)).version) in asked


@each_recipe
def test_whatever_a_recipe_asks_for_can_be_had(name: str) -> None:
    """Of a recipe here, or of Spack's own as they were read: by name and by the least version."""
    for need in RECIPES[name].needs:
        found = newest(need.name)
        assert found is not None, f"{need.name}: Spack has none, and no recipe here makes it"
        assert not need.least or Version(need.least) <= Version(found), f"{need.name}: the newest is {found}"


@each_recipe
def test_a_recipe_keeps_the_rules_of_the_audit(name: str) -> None:
    """Those of `spack audit packages` and of its guide that a recipe of these few directives can break."""
    recipe, text = RECIPES[name], RECIPES[name].path.read_text()
    assert not re.search(r"[_A-Z]", name) and sorted(os.listdir(recipe.path.parent)) == ["package.py"]
    assert recipe.package.__doc__ and not re.search(r"FIXME|remove this boilerplate|example\.com", text)
    assert "name" not in vars(recipe.package) and recipe.licenses
    assert not recipe.package.homepage or recipe.package.homepage.startswith("https://")
    assert all(description.strip() for description in recipe.variants.values())
    for need in recipe.needs:
        assert need.types <= {"build", "link", "run", "test"}
        assert need.when.lstrip("+~") in {"", *recipe.variants}, f"{need.name}: no variant {need.when}"
        if need.name == "c":
            assert need.types == {"build"}, "a language is there for building alone"
        if need.name == "python":
            assert need.types == {"build", "run"}, "pip builds with it, and it runs"
    named = [(need.name, need.when) for need in recipe.needs]
    assert len(named) == len(set(named)), "one line for each"


@each_recipe
def test_a_version_can_be_fetched(name: str) -> None:
    """By a sha256 of its archive; where there is none, the page says so to Spack, which refuses it else."""
    recipe = RECIPES[name]
    if not recipe.package.manual_download:
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in recipe.versions.values())
        assert all(version in recipe.package.pypi for version in recipe.versions)
        return
    for page in (recipe.path, ROOT / "docs" / "administration.md"):
        said = re.findall(r"spack install [^`;&\n]*", page.read_text())
        assert said and all("--no-checksum" in line and name in line for line in said), page


@pytest.mark.parametrize("name", sorted(set(RECIPES) - {OURS}))
def test_what_spack_fetches_is_what_pip_is_held_to(name: str) -> None:
    """The version and the hash stand in daemon.lock, and so in the same place for both."""
    lock = (ROOT / "packaging" / "setup" / "daemon.lock").read_text()
    ((version, digest),) = RECIPES[name].versions.items()
    block = re.search(r"(?m)^%s==%s .*(?:\n    --hash=\S+(?: .)?)*" % (name.removeprefix("py-"), version), lock)
    assert block and digest in block[0] and version in RECIPES[name].package.pypi


def ran(*words: object, **more: Any) -> str:
    """What a command prints; it has to succeed."""
    argv = [str(word) for word in words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=400, check=False, **more)
    assert done.returncode == 0, "%s\n%s%s" % (" ".join(argv), done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")


def archive(recipe: Recipe, folder: Path) -> Path:
    """What Spack would fetch: ours is made, another's is the one of the recipe's hash."""
    if recipe.name == OURS:
        made = "import hatchling.build, sys; hatchling.build.build_sdist(sys.argv[1])"
        ran(sys.executable, "-c", made, folder, cwd=ROOT)
    else:
        listed = folder / "asked.txt"
        name = recipe.name.removeprefix("py-")
        listed.write_text(f"{name}=={recipe.newest} --hash=sha256:{recipe.versions[recipe.newest]}\n")
        ran(sys.executable, *PIP, "download", "--no-deps", "--no-binary", name, "--dest", folder, "-r", listed)
    (found,) = folder.glob("*.tar.gz")
    return found


def surroundings(recipe: Recipe, folder: Path) -> Path:
    """The Python of an environment with what the recipe names, each as new as Spack has it, and nothing else."""
    ran(sys.executable, "-m", "venv", folder)
    asked = []
    for need in recipe.needs:
        if need.name not in NOT_OF_PIP:
            version = newest(need.name)
            bound = f"<{int(need.most) + 1}" if need.most else ""
            asked.append(need.name.removeprefix("py-") + (f"=={version}" if version else bound))
    ran(folder / "bin/python", *PIP, "install", "pip", *asked)
    return folder / "bin/python"


@pytest.mark.skipif(not os.environ.get("MAPLE_TEST_WHOLE"), reason="make try-packages runs it: minutes")
@pytest.mark.timeout(900)
@each_recipe
def test_a_recipe_builds_with_what_it_names(name: str, tmp_path: Path) -> None:
    """As PythonPackage calls pip, without a network; what it made needs nothing that the recipe does not name."""
    recipe = RECIPES[name]
    with tarfile.open(archive(recipe, tmp_path)) as packed:
        packed.extractall(tmp_path / "stage", filter="data")
    (source,) = (tmp_path / "stage").iterdir()
    python = surroundings(recipe, tmp_path / "venv")
    as_spack = ["install", "--no-deps", "--ignore-installed", "--no-build-isolation", "--no-warn-script-location"]
    alone = ["unshare", "--net", "--map-root-user"]
    ran(*alone, python, *PIP, "--no-cache-dir", *as_spack, "--no-index", f"--prefix={tmp_path / 'made'}", source)
    (packages,) = (tmp_path / "made").glob("lib/python*/site-packages")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "HOME": str(tmp_path)}
    words = [str(python), "-m", "pip", "--disable-pip-version-check", "check"]
    checked = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, env=environ)
    missing = [line for line in checked.stdout.splitlines() if line.startswith(name.removeprefix("py-"))]
    assert all(any(without in line for without in NO_RECIPE) for line in missing), checked.stdout
    if name == OURS:
        assert __version__ in ran(tmp_path / "made/bin/maple", "--version", env=environ)
        assert os.access(tmp_path / "made/share/maple/front/front", os.X_OK)


@pytest.mark.skipif(not shutil.which("spack"), reason="no spack on PATH; it is on no package registry of this project")
def test_spack_reads_the_recipe_and_its_dependencies(tmp_path: Path) -> None:
    """By its own audit, of a repository of these recipes alone."""
    environ = {**os.environ, "HOME": str(tmp_path), "SPACK_USER_CONFIG_PATH": str(tmp_path)}
    for words in (["repo", "add", str(TOP)], ["audit", "packages", *RECIPES]):
        ran("spack", *words, env=environ)
