"""`make bench-mapping`: wrong mappings found, right ones left alone, and the estimate against the network lab."""

from __future__ import annotations

import pytest

from tests.agents.mapping import blind
from tests.agents.mapping.cases import cases, found
from tests.network_lab.measure import main


@pytest.mark.timeout(1800)
def test_mapping() -> None:
    """Print what is found of the cases and of blind sets, then the table of the lab (three repeats, some minutes)."""
    wrong, right = cases("wrong"), cases("right")
    caught = [case for case in wrong if set(case.finds) <= found(case)]
    quiet = [case for case in right if not [one for one in found(case) if not one.startswith("MPL")]]
    print(f"\nwrong mappings found: {len(caught)} of {len(wrong)}; right ones left alone: {len(quiet)} of {len(right)}")
    for path in blind.sets():
        print(f"{path.stem}: {blind.table(blind.judged(path))}")
    main(3)
