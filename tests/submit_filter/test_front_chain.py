"""What is taken for the real command may look for the next in PATH and find the front: that comes to an end."""

from __future__ import annotations

import ctypes
import os
import subprocess
from typing import Any

import pytest

from tests.doubles.stand import ASKED, Seen, Stand, build, compiled

EXECS = b'#!/bin/bash\nPATH=${PATH#%s:}\nexec sbatch "$@"\n'
LIBC, SET_TIMER_SLACK = ctypes.CDLL(None), 29  # prctl(2)
FORKS = b'#!/bin/bash\nPATH=${PATH#%s:}\nsbatch "$@"\nexit $?\n'


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["front", "front sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Stand:
    """An installation that repairs every script, as shipped and under sanitizers."""
    front = build(request.param.endswith("sanitized"))
    one = Stand(str(tmp_path / "stand"), front, double)
    one.write("job.sh", ASKED)
    return one


def wrapped(stand: Stand, wrapper: bytes, behind: str, front_first: bool = False, **environment: str) -> Seen:
    """Submit with the site's wrapper for the real command, before or behind the front in PATH, then what is behind."""
    site = os.path.join(stand.folder, "site")
    path = stand.write(os.path.join(site, "sbatch"), wrapper.replace(b"%s", os.fsencode(site)))
    os.chmod(path, 0o755)
    stand.helper("fixes", real_sbatch=path)
    places = [os.path.dirname(stand.front), site] if front_first else [site, os.path.dirname(stand.front)]
    return stand.run(True, ["job.sh"], environment={"PATH": ":".join((*places, behind)), **environment})


@pytest.mark.parametrize("wrapper", [EXECS, FORKS], ids=["execs", "forks"])
@pytest.mark.parametrize("maple", ["", "off"])
@pytest.mark.parametrize("front_first", [False, True], ids=["wrapper first", "front first"])
def test_a_wrapper_that_finds_the_front_again_still_submits(
    stand: Stand, wrapper: bytes, maple: str, front_first: bool
) -> None:
    """Once, by the command behind both; repaired, unless that is switched off; with the user's environment."""
    seen = wrapped(stand, wrapper, os.path.dirname(stand.real), front_first, MAPLE=maple)
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
    seen = wrapped(stand, b'#!/bin/bash\nexec %s "$@"\n' % os.fsencode(stand.real), "/proc/nowhere")
    assert seen.exit == 0 and seen.script == ASKED + b"# fixed\n"
    assert b"MAPLE" not in b"".join(seen.values(b"env"))


def test_two_submissions_of_one_shell_are_not_one_chain(stand: Stand) -> None:
    """Each begins anew: the mark is the process's own."""
    stand.helper("fixes")
    assert [stand.run(True, ["job.sh"]).script for _ in range(7)] == [ASKED + b"# fixed\n"] * 7


@pytest.mark.parametrize("slack, then", [(50_000, 50_041), (12_345, 12_345), (50_100, 50_100)])
def test_a_timer_slack_of_the_user_s_own_that_is_no_mark_is_left_alone(stand: Stand, slack: int, then: int) -> None:
    """One of whole microseconds carries the count; any other goes through as it is, and is no count."""
    told = os.path.join(stand.folder, "slack")
    real = stand.write(os.path.join(stand.folder, "tells", "sbatch"), b"#!/bin/bash\necho $(<%b) >%b\n" % (
        b"/proc/$$/timerslack_ns", os.fsencode(told)))  # fmt: skip
    os.chmod(real, 0o755)
    stand.helper("fixes", real_sbatch=real)
    words, environment = [stand.command, "job.sh"], stand.environment()
    subprocess.run(words, executable=stand.front, env=environment, cwd=stand.work, check=True, timeout=60,
                   preexec_fn=lambda: LIBC.prctl(SET_TIMER_SLACK, slack))  # fmt: skip
    with open(told) as file:
        assert int(file.read()) == then
