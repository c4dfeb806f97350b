"""What callers submit goes through Maple's front unchanged, and they read the answer as before.

Where a caller's own code is in the callers' environment it runs, bare and with Maple in front; the rest are calls that
were recorded from their code (`calls.toml`). Behind both stands the recorder of `test_callers.py`, and behind that a
command that only answers: nothing of this needs a scheduler.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomllib

from tests.callers.test_callers import CALLERS, VENV, plain

HERE = Path(__file__).parent
CALLS = tomllib.loads((HERE / "calls.toml").read_text())["call"]
OWN = (
    "pysqa",
    "executorlib",
    "myqueue",
    "myqueue-pbs",
    "toil",
    "jobflow",
    "batchspawner",
    "torchx",
    "fireworks",
    "aiida",
)
MODULES = {"jobflow": "qtoolkit"}
ANSWERS = """#!/bin/sh
case "$0 $*" in
    */qsub*) echo 4711.server ;;
    *-M\\ *--parsable*) echo "4711;gpucluster" ;;
    *--parsable*) echo 4711 ;;
    *) echo "Submitted batch job 4711" ;;
esac
"""


class Place(NamedTuple):
    """Folders of a bench: `bare/` and `front/` hold the commands, `work/` is where callers work."""

    root: Path

    def environment(self, front: bool) -> dict[str, str]:
        """Return a user's; PATH has the same words either way, and the front's folder is empty where it is bare."""
        path = [self.root / ("front" if front else "none"), self.root / "bare", VENV / "bin", "/usr/bin", "/bin"]
        return {"PATH": ":".join(map(str, path)), "HOME": str(self.root / "home"), "USER": "root", "LANG": "C.UTF-8"}

    def calls(self) -> list[dict[str, Any]]:
        """Return what has reached the real commands, and forget it."""
        kept = self.root / "bare/calls.jsonl"
        lines = kept.read_text().splitlines() if kept.exists() else []
        kept.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]

    def fresh(self) -> Path:
        """Return the working directory, empty."""
        subprocess.run(["rm", "-rf", self.root / "work"], check=True)
        (self.root / "work").mkdir()
        return self.root / "work"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Maple installed in front of recorders of sbatch and qsub."""
    made = Place(tmp_path_factory.mktemp("submissions"))
    for folder in ("bare", "none", "home", "real"):
        (made.root / folder).mkdir()
    for command, site in (("sbatch", "generic-slurm"), ("qsub", "generic-pbs")):
        answers, recorder = made.root / "real" / command, made.root / "bare" / command
        answers.write_text(ANSWERS)
        answers.chmod(0o755)
        source = (HERE / "recorder.py").read_text()
        recorder.write_text(source.replace("[real, *", "[os.path.join(real, os.path.basename(sys.argv[0])), *"))
        recorder.chmod(0o755)
        (made.root / "bare/real").write_text(str(made.root / "real"))
        words = ["install", "--prefix", str(made.root / command), "--bin", str(made.root / "front"), "--site", site,
                 f"--real-{command}", str(recorder), "--mode", "repair"]  # fmt: skip
        code = "from maple_daemon.cli.admin import admin; admin()"
        subprocess.run([sys.executable, "-c", code, *words], env={**os.environ, **made.environment(False)}, check=True,
                       capture_output=True)  # fmt: skip
    made.calls()  # that of `--version`, by which the installer looks at the command
    return made


def own(value: Any) -> Any:
    """Return a record without what differs between the two runs by the test's own doing."""
    return {key: plain(one) for key, one in value.items() if key != "environ"} | {
        "environ": [plain(one) for one in value["environ"] if not one.startswith(("PATH=", "_="))]
    }


def has(name: str) -> bool:
    """Return whether the callers' environment holds a caller."""
    module = MODULES.get(name, name.partition("-")[0])
    found = list(VENV.glob(f"lib/python3*/site-packages/{module}"))
    return bool(found)


@pytest.mark.skipif(not (VENV / "bin/python").exists(), reason="make callers-venv installs the callers")
@pytest.mark.parametrize("caller", OWN)
def test_a_callers_own_code_sees_no_difference(place: Place, caller: str) -> None:
    """It parses the same id, and what reached the command and what came back is the same."""
    if not has(caller):
        assert caller in {"torchx", "fireworks", "aiida"}  # in `calls.toml` in its place
        pytest.skip("it contradicts the other packages there")
    runs = []
    for front in (False, True):
        words = [VENV / "bin/python", HERE / "drivers/submissions.py", caller]
        done = subprocess.run(words, cwd=place.fresh(), env=place.environment(front), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs.append((done.stdout.splitlines()[-1], place.calls()))
    (said, bare), (said_through, through) = runs
    assert said == said_through == "4711"
    assert [own(call) for call in bare] == [own(call) for call in through] and len(bare) == 1


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call['caller']}-{call['command']}")
def test_a_recorded_call_goes_through_unchanged(place: Place, call: dict[str, Any]) -> None:
    """Words, environment, standard input and script; and the caller finds the id in the answer."""
    runs = []
    for front in (False, True):
        work = place.fresh()
        if "file" in call:
            (work / call["file"]).write_text(call["script"].replace("{work}", str(work)))
        words = [word.replace("{work}", str(work)) for word in call["argv"]]
        stdin = call["stdin"].replace("{work}", str(work)).encode() if "stdin" in call else None
        environ = place.environment(front) | call.get("environ", {})
        command = place.root / ("front" if front else "bare") / call["command"]
        given: dict[str, Any] = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run([command, *words], cwd=work, env=environ, capture_output=True, timeout=60, check=False,
                              **given)  # fmt: skip
        runs.append((done.returncode, done.stdout, done.stderr, place.calls()))
    bare, through = runs
    assert bare[:3] == through[:3] == (0, call["answer"].encode(), b"")
    assert [own(one) for one in bare[3]] == [own(one) for one in through[3]] and len(bare[3]) == 1
    assert bare[3][0]["argv"] == words and (stdin is None or bare[3][0]["stdin"] == stdin.decode())
    found = re.search(call["parses"], call["answer"].strip())
    assert found and "4711" in found[0]


def test_every_call_that_no_code_of_ours_runs_says_where_it_is_from() -> None:
    assert all(call["by"] and call["release"] for call in CALLS)


def test_a_heterogeneous_job_is_left_alone_and_that_is_said(tmp_path: Path) -> None:
    """TorchX makes one of every application."""
    (script := tmp_path / "torchx-sbatch.sh").write_text(CALLS[0]["script"])
    code = "from maple_agents.cli.start import maple; maple()"
    words = [sys.executable, "-P", "-c", code, "check", "--site", "generic-slurm", str(script)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "left alone: a heterogeneous job" in said.stdout and "MPL" not in said.stdout


def test_the_page_names_every_caller_with_the_release_that_is_tried() -> None:
    """docs/callers.md: a row for each, and none for another; how it was tried is what these tests do."""
    page = (HERE.parents[1] / "docs/callers.md").read_text("utf-8")
    rows = dict(re.findall(r"(?m)^\| ([^|]+?) \| ([\w.]+) \|.*$", page))
    tried = {
        name: how.split(",")[0].split(":")[0] for name, how in re.findall(r"(?m)^\| ([^|]+?) \|.*\| ([^|]+) \|$", page)
    }
    asked = dict(re.findall(r"(?m)^([\w-]+)(?:\[\w+\])?==([\w.]+)$", (HERE / "requirements.txt").read_text("utf-8")))
    recorded = {call["caller"].split(",")[0]: call["release"].split(" ")[-1] for call in CALLS}
    for name, how in tried.items():
        if how in ("lab", "code"):
            assert rows[name] in asked.values(), name
    assert {name.split(" (")[0] for name, how in tried.items() if how == "call"} == set(recorded)
    assert all(rows[name] == recorded[name.split(" (")[0]] for name, how in tried.items() if how == "call")
    assert sum(how == "lab" for how in tried.values()) == len(CALLERS)
    own = {name.partition("-")[0] for name in OWN} - {name.lower() for name in recorded}
    assert sum(how == "code" for how in tried.values()) == len(own)
