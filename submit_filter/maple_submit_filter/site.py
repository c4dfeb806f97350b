"""Checked facts about the cluster, as the JSON snapshot holds them.

The TOML files in `site_configs/` are what people write; `maple site apply` checks them and writes the snapshot, so that
the submit path reads one JSON file and nothing else. Unknown is None (or absent), never a guess.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


class NodeKind(NamedTuple):
    """One kind of node. *gpus* None: not known. Memory in GiB."""

    name: str
    gpus: Optional[int] = None
    gpu_vendor: str = ""  # "nvidia", "amd", "intel", "" unknown or none
    gpu_type: str = ""  # the site's own name in GRES, "" unknown
    gpu_model: str = ""
    cores: Optional[int] = None
    threads_per_core: Optional[int] = None
    memory_gib: Optional[int] = None
    features: Tuple[str, ...] = ()  # what `--constraint` selects; () unknown


class Partition(NamedTuple):
    """A partition, QOS or queue, by *selector* "partition", "qos" or "queue". Times in seconds."""

    name: str
    selector: str
    node_kinds: Tuple[str, ...] = ()  # names of NodeKind; () unknown
    gpus_per_node: Optional[int] = None  # the most a job may use on one node here
    min_nodes: Optional[int] = None
    max_nodes: Optional[int] = None
    max_walltime: Optional[int] = None
    shared: Optional[bool] = None  # several jobs on one node
    constraint: str = ""  # holds for jobs with this constraint only
    sure: bool = True  # False: the fact is low confidence, proves nothing


class Demand(NamedTuple):
    """What the site wants, or refuses, of a request.

    *options*: long names without dashes ("account", "ntasks-per-node"), any of which satisfies (or breaches) it.
    *effect*: "refused" (the submission fails: proof), "bad-default", "may-run-wrongly", "unknown".
    *slot*: what to ask the user for. *applies*: "always", "gpu" (jobs that want GPUs) or a partition name.
    """

    options: Tuple[str, ...]
    effect: str
    says: str
    slot: str = ""
    applies: str = "always"
    text: str = ""  # the refusal's own words, as far as known
    key: str = ""  # where in the site file


class LauncherFact(NamedTuple):
    """*state*: "preferred", "present", "discouraged", "absent" or "unknown"; only "absent" proves anything."""

    name: str
    state: str
    says: str = ""
    key: str = ""


class GpuRequest(NamedTuple):
    """How GPUs are asked for.

    *style*: "whole-node" (no option; the partition decides), "gpus-per-node", "gpus-typed-total", "gpus-total",
    "constraint-and-gpus", "any" or "unknown". *form* is a template with {n} per node, {total}, {type}, {nodes}.
    """

    style: str = "unknown"
    required: bool = False
    form: str = ""


class Site(NamedTuple):
    """A cluster. `generic-slurm` and `generic-pbs` have empty tables: nothing about the site is known there."""

    id: str
    revision: str  # hash of the facts: a change of any fact changes it
    scheduler: str
    version: Tuple[int, ...] = ()  # of the scheduler, () unknown
    kinds: Tuple[NodeKind, ...] = ()
    partitions: Tuple[Partition, ...] = ()
    partitions_complete: bool = False  # True: a name not listed does not exist
    default_partition: str = ""
    default_qos: str = ""
    gpu_request: GpuRequest = GpuRequest()
    demands: Tuple[Demand, ...] = ()  # mandatory
    refusals: Tuple[Demand, ...] = ()  # forbidden
    launchers: Tuple[LauncherFact, ...] = ()
    node_name_suffix: str = ""  # appended to a host name for the high-speed network, "" none known
    interface: str = ""  # for GLOO/NCCL_SOCKET_IFNAME, "" unknown
    srun_inherits_cpus: Optional[bool] = None
    mode: str = ""  # "" = repair

    def kind(self, name: str) -> Optional[NodeKind]:
        """Return the node kind of that name."""
        return next((one for one in self.kinds if one.name == name), None)

    def launcher(self, name: str) -> str:
        """Return the state of a launcher: "unknown" where the file does not speak of it."""
        return next((one.state for one in self.launchers if one.name == name), "unknown")

    def node_kinds(self, partition: str = "", qos: str = "", constraint: str = "") -> Tuple[NodeKind, ...]:
        """Return every kind of node the request may land on; () when nothing is known.

        *partition* may be a comma-separated list. An unknown selector gives all kinds; nothing said gives those of the
        default where the site names one, else all.
        """
        raise NotImplementedError


def from_snapshot(data: dict[str, object]) -> Site:
    """Return the site of a snapshot (parsed JSON). Raises `ValueError` with one line when it does not fit."""
    raise NotImplementedError


GENERIC_SLURM = Site("generic-slurm", "0", "slurm")
GENERIC_PBS = Site("generic-pbs", "0", "pbs")
