"""The lab's small reader and the double of qsub, written apart from each other, read every PBS script alike."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.doubles.stand import compiled
from tests.pbs_lab.request import Refused, Request, read
from tests.reality.corpus import Case, cases
from tests.reality.field import Work, lay_out

NAMES = {"account": "A", "queue": "q", "job-name": "N", "output": "o", "error": "e", "join": "j", "keep": "k",
         "array": "J", "variable-list": "v", "shell": "S", "rerunable": "r", "project": "P"}  # fmt: skip
EVERY = [case for kind in ("right", "tricky", "wrong") for case in cases(kind, "pbs")]


@pytest.fixture(scope="module")
def double(tmp_path_factory):
    return compiled("qsub", str(tmp_path_factory.mktemp("double")))


def environment(case: Case) -> dict[str, str]:
    return {"HOME": "/home/user", "LOGNAME": "user", "PBS_JOBID": "1.pbs01", **dict(case.environment)}


def words(case: Case) -> list[str]:
    return [case.file_name if word == "{}" else word for word in case.words]


def told(double: str, case: Case, cwd: str) -> tuple[int, dict[str, str]]:
    """Return the double's exit code and the settings that it wrote down."""
    record = os.path.join(cwd, "record")
    done = subprocess.run(
        ["qsub", *words(case)],
        executable=double,
        cwd=cwd,
        env={**environment(case), "RECORD": record},
        input=case.script if case.stdin else b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    with open(record, encoding="utf-8", errors="surrogateescape") as file:
        lines = re.findall(r"(?m)^set (\S+) (.*)$", file.read())
    return done.returncode, dict(lines)


def ours(case: Case, cwd: str) -> tuple[int, Request | None]:
    try:
        stdin = (case.script or b"") if case.stdin else b""
        return 0, read(words(case), stdin, cwd, environment(case))
    except Refused as error:
        return error.code, None


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_two_readers_agree_on_a_script(case, double, tmp_path):
    cwd = lay_out(Work(case), str(tmp_path / "job"))
    code, settings = told(double, case, cwd)
    mine, request = ours(case, cwd)
    if request is None:
        assert code == mine
        return
    for name, value in settings.items():
        if name in NAMES:
            assert request.letters[NAMES[name]] == value
        elif name in request.resources:
            assert request.resources[name] == value
    assert set(request.resources) <= set(settings)
    assert {letter for letter in request.letters if letter in NAMES.values()} == {
        NAMES[name] for name in settings if name in NAMES
    }
