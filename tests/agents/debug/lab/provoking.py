"""Provoke a failure on the lab, ask `maple-fix` as its user would, and follow the fix until the job runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maple_agents.diagnose.read.clean_lines import cleaned

from tests.agents.debug.lab.cluster import FailingLab, of_user
from tests.agents.debug.lab.disturbing import disturb, listeners
from tests.agents.debug.lab.failing import PROGRAMS, Failure
from tests.miniapps.started import ROOT

MAPLE_FIX = os.environ.get("MAPLE_FIX_COMMAND") or str(ROOT / ".venv" / "bin" / "maple-fix")  # or of another checkout
ROUNDS = 5
_TRAINED = re.compile(r"^(?:\S+ )?rank \d+ of \d+ trained", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What `maple-fix` answered. *told*: its JSON, {} where it gave none; *err*: what it said beside."""

    code: int
    told: Mapping[str, Any]
    err: str
    seconds: float

    @property
    def first(self) -> str:
        return str(self.told["cause"]["class"]) if self.told else ""

    @property
    def causes(self) -> list[str]:
        """Return the classes in order, each once."""
        return list(dict.fromkeys([self.first, *(one["class"] for one in self.told.get("others", ()))]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a failure. *evidence*: a line of it is the telling one, and each stands where it is said to.

    *rounds*: after how many fixes the job ran; 0: it never did, or was not to. *wrong*: what went wrong, in a line.
    """

    failure: Failure
    asked: Asked
    state: str = ""
    seconds: float = 0
    evidence: bool = False
    rounds: int = 0
    wrong: str = ""
    folder: Path = field(default_factory=Path)

    @property
    def right(self) -> bool:
        return self.failure.right(self.asked.first)

    @property
    def in_three(self) -> bool:
        return any(self.failure.right(cause) for cause in self.asked.causes[:3])


class Provoked:
    """One failure in a folder of its own."""

    def __init__(self, lab: FailingLab, failure: Failure, folder: Path) -> None:
        self.lab, self.failure, self.folder = lab, failure, folder
        self.env = of_user(lab, str(folder))
        self._lay_out()

    def _lay_out(self) -> None:
        for path in PROGRAMS.iterdir():
            if path.suffix == ".py":
                shutil.copy(path, self.folder)
        for name, text in {**self.failure.files, "job.sh": self.failure.script}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if self.failure.prepare:
            subprocess.run(
                ["sh", "-c", self.failure.prepare], cwd=self.folder, check=True, timeout=60, stdin=subprocess.DEVNULL
            )

    def outcome(self, cure: bool = True) -> Outcome:
        """Submit, wait, ask; where the script can cure it and *cure* says so, submit what is offered until it runs."""
        if self.failure.refused:
            return self._refused()
        begun = time.monotonic()
        with listeners(self.lab, self.failure):
            job = self._submitted()
            state = self._ended(job)
            asked = self.ask(str(job))
            made = Outcome(
                self.failure, asked, state, time.monotonic() - begun, self._proves(asked), 0, "", self.folder
            )
            if not cure or self.failure.cured_by != "script":
                return made
            rounds, wrong = self._cured(job)
        return Outcome(
            self.failure, asked, state, time.monotonic() - begun, made.evidence, rounds, wrong, self.folder
        )  # fmt: skip

    def _submitted(self) -> int:
        done = self.lab.sbatch(*self.failure.options, "job.sh", env=self.env, cwd=str(self.folder))
        assert done.id is not None, f"{self.failure.name}: {done.stderr}"
        return done.id

    def _refused(self) -> Outcome:
        begun = time.monotonic()
        done = self.lab.sbatch(*self.failure.options, "job.sh", env=self.env, cwd=str(self.folder))
        assert done.id is None, f"{self.failure.name} was not refused"
        (self.folder / "sbatch.err").write_text(done.stderr)
        asked = self._asked("--log", "sbatch.err", "--script", "job.sh", "--site", "generic-slurm")
        return Outcome(
            self.failure, asked, "REFUSED", time.monotonic() - begun, self._proves(asked), folder=self.folder
        )  # fmt: skip

    def _ended(self, job: int) -> str:
        """Return the state of a job that is over; "HELD" where it waits to run again."""
        disturb(self.lab, self.failure, job, self.folder)
        if any(one.does == "requeue-hold" for one in self.failure.during):
            time.sleep(3)
            return "HELD"
        try:
            return self.lab.wait(job, self.failure.longest * 3).state
        except TimeoutError:
            self.lab.cancel(job)
            return self.lab.wait(job, 30).state + " (at the limit)"

    def ask(self, *words: str) -> Asked:
        """Ask `maple-fix` for its answer as JSON."""
        return self._asked(*words)

    def _asked(self, *words: str) -> Asked:
        begun = time.monotonic()
        done = self.lab.run([MAPLE_FIX, *words, "--json"], env=self.env, cwd=str(self.folder), timeout=120)
        try:
            told = json.loads(done.stdout)
        except ValueError:
            told = {}
        return Asked(done.returncode, told, done.stderr, time.monotonic() - begun)

    def _proves(self, asked: Asked) -> bool:
        """Return whether the evidence holds the telling line, and each line stands so in its file."""
        lines = asked.told.get("evidence", []) if asked.told else []
        if not all(_stands(self.folder / one["file"], one["line"], one["text"]) for one in lines):
            return False
        wanted = self.failure.evidence
        return not wanted or any(re.search(wanted, one["text"]) for one in lines)

    def _cured(self, job: int) -> tuple[int, str]:
        """Return after how many fixes the job ran, 0 for never, and why it did not."""
        for count in range(1, ROUNDS + 1):
            done = self.lab.run(
                [MAPLE_FIX, str(job), "--submit"], env=self.env, cwd=str(self.folder), timeout=120
            )  # fmt: skip
            found = re.search(r"^Submitted batch job (\d+)", done.stdout, re.MULTILINE)
            if found is None:
                return 0, f"no fix in round {count}: " + (done.stderr.strip().splitlines() or [""])[-1]
            job = int(found.group(1))
            try:
                ended = self.lab.wait(job, self.failure.longest * 3)
            except TimeoutError:
                self.lab.cancel(job)
                return 0, f"the job of round {count} hung"
            if ended.state == "COMPLETED" and self.trained(job) == self.failure.ranks:
                return count, ""
        return 0, f"{ended.state} after round {ROUNDS}, {self.trained(job)} of {self.failure.ranks} ranks trained"

    def trained(self, job: int) -> int:
        """Return how many ranks said in a log of the job that they trained."""
        logs = [path for path in self.folder.rglob("*") if re.search(rf"\b{job}\b", path.name) and path.is_file()]
        return sum(len(_TRAINED.findall(path.read_text(errors="replace"))) for path in logs)


def _stands(path: Path, number: int, text: str) -> bool:
    """Return whether a line of a file, cleaned, is *text*. What is no file (the scheduler's words) is not asked."""
    if not os.path.exists(path):
        return True
    lines = path.read_bytes().split(b"\n")
    if not 1 <= number <= len(lines):
        return number == 0
    return text.strip() in cleaned(lines[number - 1]) or cleaned(lines[number - 1]).strip() == text.strip()
