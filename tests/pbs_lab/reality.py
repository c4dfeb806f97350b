"""What really ran under PBS: submit a script to a lab, let every process write down its rank facts, and judge."""

from __future__ import annotations

import os
import tempfile
from typing import Mapping, Optional, Sequence

from tests.lab import reality
from tests.lab.client import Submitted
from tests.lab.reality import Observation
from tests.pbs_lab.lab import PbsLab


def observe(
    lab: PbsLab,
    script: bytes,
    words: Sequence[str] = ("{}",),
    env: Optional[Mapping[str, str]] = None,
    timeout: float = 30,
    files: Optional[Mapping[str, bytes]] = None,
    deadline: str = "8",
    stdin: bool = False,
) -> Observation:
    """Submit *script* as `qsub WORDS` (`{}` is its name), and watch it to its end.

    *files* are written beside the script first; one that begins with `#!` may be executed. *env* adds to the
    submitter's environment. *deadline*: seconds that stand-ins wait for each other. *stdin*: it comes that way. The
    observation's state is "NEVER" for what no host of the lab can take, "HANGS" for what outlived *timeout* seconds.
    """
    with tempfile.TemporaryDirectory(prefix="maple-pbs-") as folder:
        for name, content in {"job.sh": script, **(files or {})}.items():
            _write(os.path.join(folder, name), content)
        facts = os.path.join(folder, "facts")
        os.mkdir(facts)
        lab.tell(MAPLE_FACTS=facts, MAPLE_DOUBLE_DEADLINE=deadline)
        line = ["job.sh" if word == "{}" else word for word in words]
        submitter = {**lab.environment(), **(env or {})}
        sent = lab.qsub(*line, cwd=folder, env=submitter, stdin=script if stdin else b"")
        if sent.id is None:
            said = Submitted(None, sent.returncode, sent.stdout, sent.stderr)
            return Observation("refused", (sent.stderr.strip(),), said, "", sent.returncode, "", "", ())
        said = Submitted(int(sent.id.split("[")[0].split(".")[0]), 0, sent.stdout, sent.stderr)
        ended = lab.run(sent.id, timeout)
        if ended.state == "NEVER":
            return Observation("broken", (ended.comment,), said, "NEVER", -1, "", "", ())
        state = "HANGS" if ended.state == "HUNG" else ended.state
        found = reality.facts_in(facts)
        reasons = tuple(reality.reasons_against(state, ended.exit_code, found))
        verdict = "broken" if reasons else "right"
        return Observation(verdict, reasons, said, state, ended.exit_code, ended.stdout, ended.stderr, found)


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    if content.startswith(b"#!"):
        os.chmod(path, 0o755)
