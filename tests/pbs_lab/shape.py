"""What a PBS cluster looks like to its lab: hosts, queues, what it refuses, and whose mpiexec it has.

A shape is a value; `sites.shape_of_site` makes one from a site config.
"""

from __future__ import annotations

from typing import NamedTuple, Optional


class Host(NamedTuple):
    """One host. *name* is what `hostname` shows and what stands in PBS_NODEFILE; memory in GiB."""

    name: str
    gpus: int = 0
    vendor: str = "nvidia"
    gpu_type: str = ""
    cpus: int = 64
    memory_gib: int = 512


class Queue(NamedTuple):
    """A queue and its limits; times in seconds, None is no limit. *routed*: jobs come there by a routing queue only."""

    name: str
    min_nodes: Optional[int] = None
    max_nodes: Optional[int] = None
    max_walltime: Optional[int] = None
    routed: bool = False


class Rule(NamedTuple):
    """What a hook of the site refuses, in its own words.

    *when* "missing": none of *options* was given. *when* "present": one of them was, with one of *values* (none named:
    with any; `*` at the end stands for any ending) and with none of *except_values*.
    """

    options: tuple[str, ...]
    when: str
    says: str
    values: tuple[str, ...] = ()
    except_values: tuple[str, ...] = ()


class PbsShape(NamedTuple):
    """A whole cluster.

    *launcher*: whose mpiexec it has: "hydra" (the real one), "pals" or "openmpi" (look-alikes). *whole_nodes*: a chunk
    gets a host for itself. *suffix*: with it behind its name a host is found, too. *queues* (): any queue is accepted.
    *absent*: commands that are not there. *sets_pmix_rank*: PALS gives ranks PMIX_RANK without being asked. *tm*: its
    Open MPI was built for PBS; else it goes by ssh.
    """

    site: str
    hosts: tuple[Host, ...]
    launcher: str = "hydra"
    whole_nodes: bool = False
    suffix: str = ""
    queues: tuple[Queue, ...] = ()
    rules: tuple[Rule, ...] = ()
    absent: tuple[str, ...] = ()
    sets_pmix_rank: bool = False
    tm: bool = True


GENERIC = PbsShape("generic-pbs", tuple(Host(f"node{number}", gpus=4) for number in range(1, 5)))
"""Four hosts of four GPUs and MPICH's Hydra; nothing demanded, nothing refused."""

PAIR = PbsShape("pair", tuple(Host(f"node{number}", gpus=2, cpus=16) for number in (1, 2)))
"""The smallest lab in which a launch line can go wrong."""
