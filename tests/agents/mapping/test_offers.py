"""One edit that cures: offered only where the whole script, judged again, says less and nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.mapping import offers
from maple_agents.mapping.check import Judged
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.types.submission import Submission

from tests.agents.mapping.cases import Case, cases, lines
from tests.agents.mapping.cases import hardware as hardware_of
from tests.reality.asked import site


def _judged(case: Case, script: bytes) -> tuple[Judged, ...]:
    asked = _asked(case, script)
    return lines(decide(asked, site(case.site), None), asked, site(case.site), case)


def _asked(case: Case, script: bytes) -> Submission:
    scheduler = site(case.site).scheduler
    command = b"qsub" if scheduler == "pbs" else b"sbatch"
    return Submission(scheduler, (command, b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})


def test_half_of_the_wrong_mappings_are_cured_by_one_edit() -> None:
    """And the script that an offer makes says nothing more of that line and kind."""
    found = cured = 0
    for case in cases("wrong"):
        decision = decide(_asked(case, case.script), site(case.site), None)
        if decision.plan is None:
            continue
        said = _judged(case, case.script)
        hardware = hardware_of(decision.plan, site(case.site))
        made = offers.offers(said, decision.plan, case.script, hardware, lambda new, case=case: _judged(case, new))
        found += sum(len(line.findings) for line in said)
        for finding, offer in made.items():
            rows = case.script.split(b"\n")
            assert rows[offer.line - 1].decode() == offer.old and offer.old != offer.new
            rows[offer.line - 1] = offer.new.encode()
            after = [(one.kind, one.line) for line in _judged(case, b"\n".join(rows)) for one in line.findings]
            assert (finding.kind, finding.line) not in after
            cured += 1
    assert cured >= 60 and cured * 2 >= found - 5, (cured, found)


@pytest.mark.parametrize(
    ("launch", "new"),
    [
        ("srun -m cyclic python pretrain_gpt.py --tensor-model-parallel-size 4", "srun -m block python"),
        ("srun --cpu-bind=map_cpu:0,16,32,48 python train.py", "mask_cpu:0xffff000000000000,0xffff00000000,"),
    ],
)
def test_the_command_shows_the_line_before_and_after(maple, tmp_path: Path, launch: str, new: str) -> None:
    """The file stays as it is."""
    head = "#!/bin/bash\n#SBATCH -A abcd-delta-gpu\n#SBATCH -p gpuA100x4\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n"
    script = head + "#SBATCH --gpus-per-node=4\n#SBATCH --mem=200G\n#SBATCH -t 01:00:00\n" + launch + "\n"
    (tmp_path / "job.sh").write_text(script)
    said = maple("map", "check", "job.sh", "--site", "ncsa-delta").out.splitlines()
    assert said[1:3] == ["  offered, in line 9:", f"    - {launch}"] and new in said[3]
    assert (tmp_path / "job.sh").read_text() == script


def test_nothing_is_offered_where_an_edit_would_not_cure() -> None:
    """A tensor axis of more parts than a node has GPUs stays so in whatever order."""
    case = next(one for one in cases("wrong") if one.name == "rendezvous-of-wide-groups")
    decision = decide(_asked(case, case.script), site(case.site), None)
    assert decision.plan is not None
    said = _judged(case, case.script)
    hardware = hardware_of(decision.plan, site(case.site))
    assert said[0].findings and not offers.offers(
        said, decision.plan, case.script, hardware, lambda new: _judged(case, new)
    )
