"""At which number rules about numbers begin to speak: a script a rule, with the numbers around its bound."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import Partition

from tests.submit_filter.test_breach_bounds import HERE
from tests.submit_filter.test_heart import submitted

SITE = HERE._replace(
    partitions=(
        Partition("gpu", "partition", ("n",), 4, 2, 8, 5400, max_gpus=16),
        Partition("any", "partition", ("n",)),
    ),
    partitions_complete=True,
    kinds=(HERE.kinds[0]._replace(cores=64, threads_per_core=1, memory_gib=256),),
)
GPU = "#SBATCH -p gpu --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --time=10\n"
Row = tuple[
    str, str, tuple[object, ...], tuple[object, ...]
]  # the rule, the script with {n}, where it speaks, where not

ROWS: list[Row] = [
    ("MPL203", "#SBATCH --nodes=1 --ntasks=1\ntorchrun --nproc-per-node={n} a.py\n", (5, 8), (1, 3, 4)),
    ("MPL204", GPU.replace("gpus-per-node=4", "gpus-per-node={n}") + "srun a.out\n", (5, 8), (3, 4)),
    ("MPL206", GPU.replace("nodes=2", "nodes={n}") + "srun a.out\n", (1, 9, 10), (2, 3)),
    ("MPL206", GPU.replace("time=10", "time={n}") + "srun a.out\n", (91, 120), (89, 90)),
    ("MPL310", "#SBATCH --nodes=2\nsrun --nodes={n} python a.py\n", (3, 4), (1, 2)),
    (
        "MPL319",
        "#SBATCH -p any --nodes=1 --gpus-per-node=4 --ntasks={n}\nsrun --gpus-per-task=1 python a.py\n",
        (2, 3),
        (1, 4),
    ),
]


@pytest.mark.parametrize(
    ("code", "script", "speaks", "silent"), ROWS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_rule_speaks_from_its_bound_on(
    code: str, script: str, speaks: tuple[object, ...], silent: tuple[object, ...]
) -> None:
    """The number before it is right."""
    found = {
        n: {
            one.code
            for one in decide(submitted(b"#!/bin/bash\n" + script.replace("{n}", str(n)).encode()), SITE, None).findings
        }
        for n in (*speaks, *silent)
    }
    assert {n: code in codes for n, codes in found.items()} == {
        **dict.fromkeys(speaks, True),
        **dict.fromkeys(silent, False),
    }
