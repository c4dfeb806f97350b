"""Recipes of other installers: Ansible's role is run, Spack's and EasyBuild's ask for what pyproject.toml asks for."""

from __future__ import annotations

import json
import os
import re
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


def test_easybuild_s_file_has_what_it_needs() -> None:
    made: dict[str, Any] = {}
    exec(compile(EASYBUILD.read_text(), str(EASYBUILD), "exec"), made)  # as EasyBuild reads it
    assert (made["name"], made["version"], made["moduleclass"]) == ("Maple", __version__, "tools")
    there = {name.lower() for name, *_ in made["dependencies"]} | {"click", "jsonschema", "rich"}
    assert set(wanted()) <= there
    for path in made["sanity_check_paths"]["files"] + made["sanity_check_paths"]["dirs"]:
        below = re.sub(r"^share/maple/front", "submit_filter/front", path).replace("share/maple/", "")
        assert path.startswith("bin/") or (ROOT / below).exists(), path


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
