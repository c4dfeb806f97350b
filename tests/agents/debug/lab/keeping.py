"""Keep what was provoked as cases that need no lab: `tests/cases/diagnosis-lab/NAME/`, in the form of the corpus.

Paths of this machine are made into those of a user's; nothing else is changed. What the job printed is in `job.out`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.agents.debug.lab.provoking import Outcome
from tests.miniapps.started import ROOT, VENV

_LAB = re.compile(rb"/tmp/maple-labs-\d+/[0-9a-f]+")
FOLDER = ROOT / "tests/cases/diagnosis-lab"
_STATES = {"HELD": "requeued", "REFUSED": "refused", "COMPLETED": "completed", "FAILED": "failed",
           "CANCELLED": "cancelled", "TIMEOUT": "timeout",
           "NODE_FAIL": "node-failed", "OUT_OF_MEMORY": "out-of-memory"}  # fmt: skip


def keep(one: Outcome) -> None:
    """Write the case of a provoked failure; an older one is replaced. Without a log there is none: then only the
    scheduler could tell.
    """
    if not _logs(one):
        return
    folder = FOLDER / one.failure.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told = _replaced(one)
    script = _without(told, (one.folder / "job.sh").read_bytes())
    (folder / "job.sh").write_bytes(script)
    logs = {}
    for path in _logs(one):
        name = "job.out" if path.parent == one.folder and path.suffix == ".out" else path.name
        logs[name] = _without(told, path.read_bytes())
        (folder / name).write_bytes(logs[name])
    (folder / "expected.toml").write_text(_expected(one, logs, script))


def _logs(one: Outcome) -> list[Path]:
    """Return the logs of the first job of a failure: those of its mended copies are not what failed."""
    first = [path for path in one.folder.rglob("*") if path.suffix in (".out", ".err", ".log") and path.is_file()]
    numbers = sorted({int(found) for path in first for found in re.findall(r"-(\d+)\.out$", path.name)})
    return sorted(path for path in first if not any(path.name.endswith(f"-{later}.out") for later in numbers[1:]))


def _replaced(one: Outcome) -> list[tuple[bytes, bytes]]:
    pairs = [
        (str(one.folder), f"/home/ada/{one.failure.name}"),
        (str(VENV.resolve()), "/opt/venvs/torch"),
        (str(VENV), "/opt/venvs/torch"),
        (str(ROOT), "/opt/src"),
    ]
    return [(old.encode(), new.encode()) for old, new in pairs]


def _without(told: list[tuple[bytes, bytes]], text: bytes) -> bytes:
    text = _LAB.sub(b"/var/spool/slurm", text)
    for old, new in told:
        text = text.replace(old, new)
    return text


def _expected(one: Outcome, logs: dict[str, bytes], script: bytes) -> str:
    failure = one.failure
    proofs = [
        f'{{ file = "{name}", line = {number} }}'
        for name, text in {**logs, "job.sh": script}.items()
        for number, line in enumerate(text.split(b"\n"), 1)
        if failure.evidence and re.search(failure.evidence, line.decode("utf-8", "replace"))
    ]
    state = _STATES.get(one.state, "")
    code = one.asked.told.get("exit_code") if one.asked.told else None
    lines = [
        f'class = "{failure.cause}"',
        f"accepts = [{', '.join(chr(34) + name + chr(34) for name in failure.accepts)}]",
        f'kind = "{_kind(one, any("job.sh" not in proof for proof in proofs))}"',
        *([f'state = "{state}"'] if state else []),
        *([f"exit_code = {code}"] if code is not None else []),
        'site = "generic-slurm"',
        f"logs = [{', '.join(chr(34) + name + chr(34) for name in logs)}]",
        'script = "job.sh"',
        'source = "provoked"',
        "evidence = [" + ", ".join(proofs) + "]",
        "cascade = []",
    ]
    return "\n".join(lines) + "\n"


def _kind(one: Outcome, proven: bool) -> str:
    if one.failure.cause in ("none", "unknown"):
        return {"none": "good", "unknown": "unknown"}[one.failure.cause]
    return "failed" if proven else "hang"
