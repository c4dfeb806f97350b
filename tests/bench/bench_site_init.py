"""What `maple site init` drafts on the lab of each Slurm site, beside what the lab was made from."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from maple_agents.ask.sites.files import parse

from tests.daemon.site_init_truth import facts
from tests.lab import Lab
from tests.lab.sites import shape_of_site, slurm_sites

MAPLE = str(Path(sys.executable).with_name("maple"))
ROW = "%-18s %6s %6s %9s %6s %8s  %s"


def test_drafts_of_every_site(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing may be wrong; what is left out is named."""
    lines = [ROW % ("lab of", "facts", "equal", "left out", "wrong", "seconds", "left out, wrong")]
    total: Counter[str] = Counter()
    for name in slurm_sites():
        shape = shape_of_site(name)
        with Lab(shape) as lab:
            began = time.monotonic()
            done = lab.run([MAPLE, "site", "init"], timeout=60)
            spent = time.monotonic() - began
        found = list(facts(shape, parse(done.stdout.encode(), "draft")))
        tally = Counter(one.verdict for one in found)
        named = Counter(one.what for one in found if one.verdict != "equal")
        which = ", ".join("%s x%d" % pair if pair[1] > 1 else pair[0] for pair in named.items())
        counts = (len(found), tally["equal"], tally["left out"], tally["WRONG"])
        lines.append(ROW % (name, *counts, "%.2f" % spent, which))
        total += tally
    lines.append(ROW % ("all", sum(total.values()), total["equal"], total["left out"], total["WRONG"], "", ""))
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert total["WRONG"] == 0
