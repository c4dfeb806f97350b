"""What is installed from elsewhere: each package with version and hashes, as pyproject.toml asks for, and no more."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
import tomllib
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXTRAS = {"daemon": ("daemon", "postgresql", "window"), "dev": ("daemon", "dev")}
BUILDING = ("hatchling>=1.26", "editables")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


class Locked(NamedTuple):
    """One package: where it is meant for, and the hashes of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def locked(name: str) -> list[Locked]:
    """The packages of a list."""
    text = (ROOT / f"packaging/setup/{name}.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = []
    for line in lines:
        head, *hashes = line.split(" --hash=")
        made = re.fullmatch(r"([a-z0-9-]+)==([\w.+!]+)(?: ; (.+?))?\s*", head)
        assert made, line
        found.append(Locked(made[1], made[2], made[3] or "", tuple(one.strip() for one in hashes)))
    return found


def wanted(name: str) -> list[Requirement]:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for one in EXTRAS[name] for line in project["optional-dependencies"][one]]
    return [Requirement(line) for line in (*project["dependencies"], *extras, *BUILDING)]


def on(python: str) -> dict[str, str]:
    """The machine that it is installed on."""
    return {"python_version": python, "python_full_version": python + ".0", "sys_platform": "linux",
            "platform_system": "Linux", "os_name": "posix", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "extra": ""}  # fmt: skip


def of(name: str, python: str) -> dict[str, Locked]:
    """The packages that are installed there."""
    found = [one for one in locked(name) if not one.marker or Marker(one.marker).evaluate(on(python))]
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", EXTRAS)
def test_each_package_that_is_asked_for_is_there_in_a_version_that_fits(name, python):
    there = of(name, python)
    for asked in wanted(name):
        one = there.get(canonicalize_name(asked.name))
        assert one is not None and asked.specifier.contains(one.version), f"{asked}; make lock"


@pytest.mark.parametrize("name", EXTRAS)
def test_nothing_is_missing_of_what_they_ask_for_themselves(name):
    """As far as they are installed here in that version; pip would refuse the whole list."""
    python = "%d.%d" % sys.version_info[:2]
    there, looked = of(name, python), 0
    for one in there.values():
        for line in _requires(one):
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate(on(python)):
                looked += 1
                assert canonicalize_name(asked.name) in there, f"{one.name} asks for {asked}; make lock"
    assert looked > 5


def _requires(one: Locked) -> list[str]:
    try:
        found = metadata.distribution(one.name)
    except metadata.PackageNotFoundError:
        return []
    return list(found.requires or ()) if found.version == one.version else []


def test_those_who_only_install_get_none_of_our_tools():
    assert not {"pytest", "mypy", "ruff", "hypothesis", "pre-commit"} & {one.name for one in locked("daemon")}


@pytest.mark.parametrize("name", (*EXTRAS, "docs"))
def test_every_package_has_hashes_and_no_place_is_named(name):
    """Where packages come from is the installer's to say."""
    assert all(one.hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in one.hashes)
               for one in locked(name))  # fmt: skip
    text = (ROOT / f"packaging/setup/{name}.lock").read_text()
    assert not re.search(r"//|https?|index|find-links|@|file:|\.(?:org|com|net|io)\b", text)
