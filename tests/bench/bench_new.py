"""How soon `maple new` has a script: `make bench-new`."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench.installed import MAPLE
from tests.bench.measure import Call, once
from tests.bench.new_requests import requests
from tests.miniapps.started import ROOT, frameworks

ROUNDS = 1  # of 60 requests
COLD, ALONE = "maple new, a process of its own", "loading a tiny model, nothing else"
Took = tuple[float, float]  # milliseconds on the wall, and on the processor
TINY = ROOT / "tests" / "agents" / "models" / "tiny_llama.py"
LOAD = "from maple_agents.ask.models.local import LocalModel; import sys; LocalModel(sys.argv[1]).load()"


@pytest.mark.timeout(1800)
def test_request_to_script(tmp_path: Path) -> None:
    """The aim: 0.3 s without a model once warm. Beside it, in the same run: loading nothing but a model."""
    env = _environment(tmp_path)
    heavy = str(frameworks() / "python")
    subprocess.run([heavy, str(TINY), str(tmp_path / "tiny")], env=env, check=True, capture_output=True)
    every = list(requests())
    times: dict[str, list[Took]] = {"python -c pass": [], ALONE: [], COLD: []}
    for number, one in enumerate(every):
        times["python -c pass"].append(_once("pass", [sys.executable, "-c", "pass"], env))
        times[COLD].append(_once(COLD, [MAPLE, "new", "--json", "--site", one.site, one.text], env))
        if number % 10 == 0:
            times[ALONE].append(_once(ALONE, [heavy, "-c", LOAD, str(tmp_path / "tiny")], env))
    warm = _in_process(sys.executable, env)
    with_model = _in_process(heavy, env, str(tmp_path / "tiny"))
    times["maple new, in a process that runs"] = warm["each"]
    times["the same, a tiny model reads along"] = with_model["each"]
    print(_table(times, len(every)))


def _environment(home: Path) -> dict[str, str]:
    paths = os.pathsep.join(str(ROOT / one) for one in ("agents", "submit_filter", "."))
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": paths,
        "OMP_NUM_THREADS": "1",
        "MAPLE_ETC": str(home / "etc"),
    }


def _once(name: str, argv: list[str], env: dict[str, str]) -> Took:
    return once(Call(name, argv, env))


def _in_process(python: str, env: dict[str, str], *folder: str) -> dict[str, list[Took]]:
    argv = [python, "-m", "tests.bench.new_in_process", str(ROUNDS), *folder]
    done = subprocess.run(argv, env=env, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    found: dict[str, list[Took]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _table(times: dict[str, list[Took]], count: int) -> str:
    unit = statistics.median(cpu for _, cpu in times[ALONE])
    lines = [
        "",
        f"Request to script: {count} requests, 12 sites and 5 paradigms (aim: 300 ms without a model, once warm)",
    ]
    lines.append(f"  {'':38}{'wall ms':>21}{'cpu ms':>21}   cpu, in loads")
    lines.append(f"  {'':38}{'median':>8}{'p95':>7}{'min':>6}{'median':>8}{'p95':>7}{'min':>6}   of the model")
    for name, took in times.items():
        walls, cpus = zip(*took, strict=True)
        text = "".join(f"{statistics.median(one):8.0f}{_late(one):7.0f}{min(one):6.0f}" for one in (walls, cpus))
        lines.append(f"  {name:38}{text}{statistics.median(cpus) / unit:15.3f}")
    return "\n".join(lines)


def _late(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]
