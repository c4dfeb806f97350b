"""What holds of every answer: no process but bash, no line like one of the command's, no rule that ends it."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pytest
from maple_submit_filter import rules as registry
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.fate import fates
from maple_submit_filter.answer.report import tell
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.submission import Submission

from tests.bench.scripts import script
from tests.submit_filter.test_worlds_kept_everywhere import decisions, everything

Of = TypeVar("Of")
STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system", "socket.connect")
HOSTILE = b"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --job-name="x\rsbatch: error: gone"
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id="a\x85sbatch: b\x0bqsub: c" --master-addr=$'q\nsbatch: d' train.py
"""


SEED = 20261124


def some(every: Sequence[Of]) -> list[Of]:
    """A third of what there is of each submission in the tree."""
    return random.Random(SEED).sample(every, len(every) // 3)


@pytest.fixture
def started() -> Iterator[list[str]]:
    """What this process starts or connects to; a hook of Python's own stays for good, so it is only switched off."""
    seen: list[str] = []
    live = [True]

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if live[0] and event in STARTS:
            seen.append("%s %s" % (event, words[0] if words else ""))

    sys.addaudithook(hook)
    yield seen
    live[0] = False


def test_deciding_starts_nothing_but_bash_and_connects_to_nobody(started: list[str]) -> None:
    """Sites limit how often their scheduler may be asked; a submission asks it nothing but to submit."""
    made = [decide(asked, site, read) for _, asked, site, read in some(everything())]
    assert sum(decision.repaired is not None for decision in made) > 30
    assert {word for word in started} <= {"os.posix_spawn /bin/bash", "os.posix_spawn /usr/bin/bash"}
    assert started, "a repair is checked by bash, and nothing was seen"


def said(decision: Decision, source: bytes, name: bytes) -> list[str]:
    told = fates(decision, "repair")
    return [line for finding in decision.findings for line in tell(finding, source, name, told)]


def test_no_line_that_is_said_begins_as_the_command_s_own() -> None:
    """Ten widely used tools read what the command says: whatever a script holds, no line of ours looks so."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), HOSTILE, "file", b"job.sh", b"/work", 1000, {})
    rows = [(one.asked, decision) for one, decision in some(decisions())]
    rows.append((asked, decide(asked, GENERIC_SLURM, None)))
    names = (b"job\nsbatch: x.sh", b"sbatch", b"qsub: error")
    lines = [line for of, decision in rows for name in names for line in said(decision, of.script or b"", name)]
    assert len(lines) > 500
    assert [
        line for line in lines for part in line.splitlines() if part.lstrip().startswith(("sbatch:", "qsub:"))
    ] == []


def test_a_rule_that_breaks_is_silent_and_the_others_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of ours costs its finding, and never the submission."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script(30, 1), "file", b"job.sh", b"/work", 1000, {})
    before = decide(asked, GENERIC_SLURM, None)

    def breaks(*_: object) -> Iterator[Finding]:
        raise ZeroDivisionError("a bug")

    whole = registry.rules()
    spoke = {finding.code for finding in before.findings}
    one = next(rule for rule in whole if rule.code not in spoke)
    monkeypatch.setattr(registry, "rules", lambda: (one._replace(check=breaks), *whole))
    monkeypatch.delenv("MAPLE_RULES_RAISE", raising=False)
    after = decide(asked, GENERIC_SLURM, None)
    assert after.repaired == before.repaired is not None
    assert [finding.says for finding in after.findings] == [finding.says for finding in before.findings]


def test_what_was_repaired_is_not_repaired_again() -> None:
    """Of every repair in the tree, also those of several fixes: nothing is proven of it, and nothing is left to do."""
    repairs = [(one, decision.repaired) for one, decision in decisions() if decision.repaired is not None]
    assert len(repairs) > 100 and sum(len(made.says) > 1 for _, made in repairs) >= 5
    for (name, asked, site, read), made in repairs:
        script = asked.script if made.script is None else made.script
        again = decide(asked._replace(script=script, argv=made.argv), site, read)
        assert again.repaired is None and not any(finding.proven for finding in again.findings), name
