"""What really ran: submit a script to a lab, let every process write down its rank facts, and judge."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from tests.lab.lab import Lab, Submitted


class World(NamedTuple):
    """Ranks that met. *ranks* maps host to the ranks on it, sorted."""

    id: str
    size: int
    ranks: Mapping[str, tuple[int, ...]]


class Observation(NamedTuple):
    """One submission and what came of it.

    *verdict* is "refused" (sbatch said no), "right" (completed, exit 0, every rank of every world present once, met the
    others and had a GPU of its own) or "broken", with *reasons*. *state* "" when refused, "HANGS" when it was still
    there after the time given. *facts* has one dictionary for each process that trained: tests/doubles/launchers.
    """

    verdict: str
    reasons: tuple[str, ...]
    submitted: Submitted
    state: str
    exit_code: int
    stdout: str
    stderr: str
    facts: tuple[Mapping[str, Any], ...]

    @property
    def worlds(self) -> tuple[World, ...]:
        """Return the worlds that met; a process that met nobody is in none."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for fact in self.facts:
            if fact.get("world_id"):
                found.setdefault(fact["world_id"], []).append(fact)
        return tuple(_world(key, members) for key, members in sorted(found.items()))

    @property
    def singles(self) -> int:
        """Return how many processes trained alone."""
        return sum(1 for fact in self.facts if fact.get("ok") and not fact.get("world_id"))


def observe(
    lab: Lab,
    script: bytes,
    argv: Sequence[str] = (),
    env: Optional[Mapping[str, str]] = None,
    timeout: float = 60,
    words: Sequence[str] = (),
    command: str = "sbatch",
    files: Optional[Mapping[str, bytes]] = None,
) -> Observation:
    """Submit *script* with *argv* before and *words* behind it, and watch it to its end.

    *files* are written beside the script first (programs, hostfiles). *env* adds to the lab's environment. *command*
    may be a wrapped sbatch. The output goes where we read it: --output and --error are put on the command line. Several
    threads may observe on one lab at once.
    """
    with tempfile.TemporaryDirectory(prefix="maple-run-") as folder:
        for name, content in {"job.sh": script, **(files or {})}.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        os.chmod(folder, 0o755)
        facts, out, err = (os.path.join(folder, name) for name in ("facts", "out.txt", "err.txt"))
        surroundings = {**lab.environment(MAPLE_FACTS=facts), **(env or {})}
        line = [*argv, f"--output={out}", f"--error={err}", "job.sh", *words]
        submitted = lab.sbatch(*line, env=surroundings, cwd=folder, command=command)
        if submitted.id is None:
            reason = submitted.stderr.strip() or submitted.stdout.strip()
            return Observation("refused", (reason,), submitted, "", submitted.returncode, "", "", ())
        state, code = _ended(lab, submitted.id, timeout)
        found = facts_in(facts)
        reasons = tuple(reasons_against(state, code, found))
        return Observation(
            "broken" if reasons else "right", reasons, submitted, state, code, _tail(out), _tail(err), found
        )


def _ended(lab: Lab, job: int, timeout: float) -> tuple[str, int]:
    try:
        ended = lab.wait(job, timeout)
    except TimeoutError:
        lab.cancel(job)
        with contextlib.suppress(TimeoutError):
            lab.wait(job, 15)
        return "HANGS", -1
    return ended.state, ended.exit_code or 128 * bool(ended.signal) + ended.signal


def facts_in(folder: str) -> tuple[Mapping[str, Any], ...]:
    """Return what the processes of one job wrote into the folder that MAPLE_FACTS named."""
    found = []
    for path in sorted(glob.glob(f"{folder}/*.json")):
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file))
    return tuple(found)


def reasons_against(state: str, code: int, facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return why the job was not right; [] when every process ended well with what it needs."""
    reasons = []
    if state != "COMPLETED" or code:
        reasons.append(f"the job ended {state} with exit code {code}")
    if not facts:
        reasons.append("no training process ran")
    reasons += [f"rank {fact['rank']} on {fact['host']}: {fact['why']}" for fact in facts if not fact["ok"]]
    return reasons


def _world(key: str, members: Sequence[Mapping[str, Any]]) -> World:
    hosts: dict[str, list[int]] = {}
    for fact in members:
        hosts.setdefault(fact["host"], []).append(fact["rank"])
    return World(key, members[0]["world_size"], {host: tuple(sorted(hosts[host])) for host in sorted(hosts)})


def _tail(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]
    except OSError:
        return ""
