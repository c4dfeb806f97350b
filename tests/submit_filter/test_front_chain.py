"""What is taken for the real command may look for the next in PATH and find the front: that comes to an end."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.doubles.stand import ASKED, Seen, Stand, build, compiled, entry

EXECS = b'#!/bin/bash\nPATH=${PATH#%s:}\nexec sbatch "$@"\n'
FORKS = b'#!/bin/bash\nPATH=${PATH#%s:}\nsbatch "$@"\nexit $?\n'


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["front", "front sanitized", "entry"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Stand:
    """An installation that repairs every script, in the three shapes it has."""
    front = entry(str(tmp_path)) if request.param == "entry" else build(request.param.endswith("sanitized"))
    one = Stand(str(tmp_path / "stand"), front, double)
    one.write("job.sh", ASKED)
    return one


def wrapped(stand: Stand, wrapper: bytes, behind: str, **environment: str) -> Seen:
    """Submit with the site's wrapper for the real command, first in PATH, then the front, then what is behind."""
    site = os.path.join(stand.folder, "site")
    path = stand.write(os.path.join(site, "sbatch"), wrapper.replace(b"%s", os.fsencode(site)))
    os.chmod(path, 0o755)
    stand.helper("fixes", real_sbatch=path)
    places = "%s:%s:%s" % (site, os.path.dirname(stand.front), behind)
    return stand.run(True, ["job.sh"], environment={"PATH": places, **environment})


@pytest.mark.parametrize("wrapper", [EXECS, FORKS], ids=["execs", "forks"])
@pytest.mark.parametrize("maple", ["", "off"])
def test_a_wrapper_that_finds_the_front_again_still_submits(stand: Stand, wrapper: bytes, maple: str) -> None:
    """Once, by the command behind the front; repaired, unless that is switched off; with the user's environment."""
    seen = wrapped(stand, wrapper, os.path.dirname(stand.real), MAPLE=maple)
    assert seen.exit == 0 and seen.stdout == stand.accepted
    assert seen.script == (ASKED if maple else ASKED + b"# fixed\n")
    names = {one.partition(b"=")[0] for one in seen.values(b"env")}
    assert not {name for name in names if name.startswith(b"MAPLE")} - {b"MAPLE"}


@pytest.mark.parametrize("maple", ["", "off"])
def test_two_that_only_find_each_other_come_to_an_end(stand: Stand, maple: str) -> None:
    """And it is said which file is not the real command."""
    empty = os.path.join(stand.folder, "empty")
    seen = wrapped(stand, EXECS.replace(b"exec sbatch", b"exec %b" % os.fsencode(stand.front)), empty, MAPLE=maple)
    assert seen.exit == 126 and os.fsencode(stand.folder) + b"/site/sbatch" in seen.stderr


def test_a_wrapper_that_calls_the_real_command_is_left_alone(stand: Stand) -> None:
    """Most sites' wrappers do."""
    seen = wrapped(stand, b'#!/bin/bash\nexec %s "$@"\n' % os.fsencode(stand.real), "/nonexistent")
    assert seen.exit == 0 and seen.script == ASKED + b"# fixed\n"
    assert b"MAPLE" not in b"".join(seen.values(b"env"))


def test_two_submissions_of_one_shell_are_not_one_chain(stand: Stand) -> None:
    """Each begins anew: the mark is the process's own."""
    stand.helper("fixes")
    assert [stand.run(True, ["job.sh"]).script for _ in range(7)] == [ASKED + b"# fixed\n"] * 7
