"""`make bench-mapping`: wrong mappings found, right ones left alone; the estimate against the lab; searchers."""

from __future__ import annotations

import pytest

from tests.agents.mapping import blind, proposers, search, slips
from tests.agents.mapping.cases import cases, found
from tests.network_lab import products
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


@pytest.mark.timeout(1800)
def test_mapping_slips() -> None:
    """Print what is found of slips in right scripts of every site, and of their twins (four minutes)."""
    print("\n" + slips.table(slips.measured()))


@pytest.mark.timeout(3600)
def test_mapping_search() -> None:
    """Print the best estimate of each searcher after 10, 100 and 1,000 trials (a quarter of an hour)."""
    search.set_up()
    print("\nestimate of a step's exchanges in milliseconds, median of %d seeds\n%s" % (search.SEEDS, search.table()))


@pytest.mark.timeout(3600)
def test_mapping_products() -> None:
    """Print the real times of three programs of ranks under every mapping, and what searchers find (ten minutes)."""
    search.set_up()
    products.main()


def test_mapping_proposers() -> None:
    """Print what the transcripts of a model come to, at each level of feedback, on the space of the searchers."""
    print("\n" + proposers.table())
