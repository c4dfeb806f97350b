"""The lab for a case: the shape of its site, with nodes enough for the corpora."""

from __future__ import annotations

from functools import cache

from tests.lab.shape import GPU4, Shape
from tests.lab.sites import shape_of_site
from tests.reality.corpus import GENERIC

OTHERS = {"tacc-stampede3": 4}  # nodes of the GPU kinds that are not the site's first; else 2
OPEN_MPI = ("tacc-vista",)  # its documented mpirun is Open MPI's, though it has ibrun as well


@cache
def shape_of(name: str) -> Shape:
    """Return the shape of a site's lab; a site that nobody described has four nodes of four GPUs."""
    if name == GENERIC:
        return GPU4
    shape = shape_of_site(name, nodes=4, others=OTHERS.get(name, 2))
    return shape._replace(mpi="openmpi") if name in OPEN_MPI else shape
