"""Checked facts about the cluster, as the JSON snapshot holds them.

The TOML files in `site_configs/` are what people write; `maple site apply` checks them and writes the snapshot, so that
the submit path reads one JSON file and nothing else. Unknown is None (or absent), never a guess.
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Tuple


class NodeKind(NamedTuple):
    """One kind of node. Memory in GiB.

    *gpus*: how many devices the ranks of a job can have for their own there, None not known. Where a card counts as
    several devices (the tiles of an Intel Max, the dies of an MI250X) these are counted, and `gpu_request` may not.
    """

    name: str
    gpus: Optional[int] = None
    gpu_vendor: str = ""  # "nvidia", "amd", "intel", "" unknown or none
    gpu_type: str = ""  # the site's own name in GRES, "" unknown
    gpu_model: str = ""
    cores: Optional[int] = None
    threads_per_core: Optional[int] = None
    memory_gib: Optional[int] = None  # the most that a job can ask for
    features: Tuple[str, ...] = ()  # what `--constraint` selects; () unknown
    not_mounted: Tuple[str, ...] = ()  # folders that are not mounted there
    cpus: Optional[int] = None  # what all tasks there have together unless threads or core specialization are said
    memory_installed_gib: Optional[int] = None  # all that is in the node, where that is more and known


class SizeBin(NamedTuple):
    """The most time of a job of so many nodes. In seconds."""

    min_nodes: int
    max_nodes: int
    max_walltime: int


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
    gpu_request: str = ""  # the form that holds here, where it is not the site's
    max_gpus: Optional[int] = None  # of one job, over all its nodes
    default_walltime: Optional[int] = None
    routed: bool = False  # True: reached through a routing queue only, never named
    gpus_multiple: Optional[int] = None  # the GPUs of a node are given in multiples of this
    sizes: Tuple[SizeBin, ...] = ()
    cpus_with_gpus: Optional[bool] = None  # CPUs come with the GPUs that are asked for
    max_jobs: Optional[int] = None  # of one user that may be submitted; each task of an array is one
    account_ending: str = ""  # of the accounts that may be charged here, and of no others; "" unknown


class Demand(NamedTuple):
    """What the site wants, or refuses, of a request.

    *options*: long names without dashes ("account", "ntasks-per-node"), any of which satisfies (or breaches) it.
    *effect*: "refused" (the submission fails: proof), "bad-default", "may-run-wrongly", "unknown".
    *slot*: what to ask the user for. *applies*: "always", "gpu" (jobs that want GPUs) or a partition name.
    *values*: refused only with one of these (`*` at the end stands for any ending). *except_values*: not with these.
    A refusal of effect "may-run-wrongly" is what the site advises against.
    """

    options: Tuple[str, ...]
    effect: str
    says: str
    slot: str = ""
    applies: str = "always"
    text: str = ""  # the refusal's own words, as far as known
    key: str = ""  # where in the site file
    values: Tuple[str, ...] = ()
    except_values: Tuple[str, ...] = ()
    usual: str = ""  # the value that the site's own samples say: "home:flare"


class LauncherFact(NamedTuple):
    """*state*: "preferred", "present", "discouraged", "absent" or "unknown"; only "absent" proves anything.

    *maker*: whose program an mpiexec is ("pals", "hydra", "openmpi", "intelmpi"), "" unknown.
    """

    name: str
    state: str
    says: str = ""
    key: str = ""
    maker: str = ""


class GpuRequest(NamedTuple):
    """How GPUs are asked for.

    *style*: "whole-node" (no option; the partition decides), "gpus-per-node", "gpus-typed-total", "gpus-total",
    "constraint-and-gpus", "any" or "unknown". *form* is a template with {n} per node, {total}, {type}, {nodes}.
    *on_step*: what the line of srun must say as well, "" where a step has what the job has.
    """

    style: str = "unknown"
    required: bool = False
    form: str = ""
    on_step: str = ""


class ForeignName(NamedTuple):
    """A name of another cluster. *what*: "partition", "qos", "queue", "constraint" or "account" (how it ends)."""

    site: str
    what: str
    gpus: Optional[int]  # of a node there, None unknown
    name: str


def foreign_names(site: "Site", what: str) -> List[ForeignName]:
    """Return what other clusters with the same scheduler call theirs, a line each in the snapshot: few jobs need it."""
    rows = [line.split(" ", 3) for line in site.elsewhere]
    return [
        ForeignName(row[0], row[1], int(row[2]) if row[2].isdigit() else None, row[3]) for row in rows if row[1] == what
    ]


class Unfit(NamedTuple):
    """Words of a script that do not work at a site though the scheduler takes them.

    *what*: "mpiexec --gpu-bind" (an option of a launcher), "--backend=ccl" (what a program is told), "module conda",
    "command wget|git clone" (one of these, in the batch shell), "word /mnt/bb" (anywhere on a command line),
    "set NAME=value|other" (a variable that is given one of these; any, where none stands there), "-l
    filesystems=flare" (a value that is asked for), or the name of a file on a launch line. *loads*: the module that
    must be loaded for it to hold; *unless*: words of the script that make it work, any of several behind bars, a
    variable's name where it is set; *after*: words that must stand there for it to hold (`module purge`). Its cure:
    *remove* it, write *instead* for it, or write words *before* its line; a directive (`#SBATCH -C nvme`) stands
    among the others.
    """

    key: str
    what: str
    says: str
    loads: str = ""
    unless: str = ""
    remove: bool = False
    instead: str = ""
    before: str = ""
    after: str = ""


class LaunchTemplate(NamedTuple):
    """What starts *launcher* (or "python") on the nodes: the *words* of *over*, with {job.nodes} and other slots.

    *verified*: a mini-app passed with this revision of the template on this revision of the site.
    """

    name: str
    revision: int
    launcher: str
    over: str
    words: str
    verified: bool = False


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
    kinds_complete: bool = False  # True: there is no kind of node but *kinds*
    launch_templates: Tuple[LaunchTemplate, ...] = ()  # by which an absent launcher is replaced
    arch: str = ""  # "x86_64", "aarch64", "" unknown
    interfaces: Tuple[str, ...] = ()  # network interfaces of the nodes that ranks meet over; () unknown
    scheduler_module: str = ""  # the module that srun comes from, where `module purge` takes it away
    account_endings: Tuple[str, ...] = ()  # how accounts end there and nowhere else: "-delta-gpu"; () unknown
    plugin_options: Tuple[str, ...] = ()  # what sbatch takes here by a plug-in: "image"
    unfit: Tuple[Unfit, ...] = ()
    elsewhere: Tuple[str, ...] = ()  # what other clusters call theirs: see `foreign_names`
    unsure: Tuple[str, ...] = ()  # keys of the tables ("node.a100", "network") not held with high confidence

    def kind(self, name: str) -> Optional[NodeKind]:
        """Return the node kind of that name."""
        return next((node_kind for node_kind in self.kinds if node_kind.name == name), None)

    def launcher(self, name: str) -> str:
        """Return the state of a launcher: "unknown" where the file does not speak of it."""
        return next((launcher_fact.state for launcher_fact in self.launchers if launcher_fact.name == name), "unknown")

    def preferred(self) -> List[str]:
        """Return the launchers that the site prefers, in the order of its file."""
        return [launcher_fact.name for launcher_fact in self.launchers if launcher_fact.state == "preferred"]

    def maker(self, name: str) -> str:
        """Return whose program the launcher of that name is, "" where the file does not say."""
        makers = {launcher_fact.name: launcher_fact.maker for launcher_fact in self.launchers}
        if name == "mpirun" and name not in makers and makers.get("mpiexec") == "pals":
            return "pals"  # its client is installed by both names
        return makers.get(name, "")

    def node_kinds(self, partition: str = "", qos: str = "", constraint: str = "") -> Tuple[NodeKind, ...]:
        """Return every kind of node the request may land on; () when nothing is known, or nothing fits.

        *partition* may be a comma-separated list (of queues, under PBS). An unknown selector gives all kinds; nothing
        said gives those of the default where the site names one, else all. Where the file may not know every kind,
        "all" ends with `ELSEWHERE`, about which nothing is known, so that nothing is proven of such a request.
        """
        if not self.kinds:
            return ()
        featured = kinds_with(constraint, {kind.name: kind.features for kind in self.kinds})
        placed = self._behind(partition or self.default_partition, ("partition", "queue"), featured)
        admitted = self._behind(qos or self.default_qos, ("qos",), featured)
        limits = [limit for limit in (featured, placed, admitted) if limit is not None]
        kinds = tuple(kind for kind in self.kinds if all(kind.name in limit for limit in limits))
        return kinds if limits or self.kinds_complete else (*kinds, ELSEWHERE)

    def _behind(
        self, names: str, selectors: Tuple[str, ...], featured: Optional[FrozenSet[str]]
    ) -> Optional[FrozenSet[str]]:
        """Return the names of the kinds behind a list of partitions, QOS or queues; None where it may be any kind."""
        behind: FrozenSet[str] = frozenset()
        for name in filter(None, (word.strip() for word in names.split(","))):
            rows = [row for row in self.partitions if row.name == name and row.selector in selectors]
            known = [row for row in rows if row.sure and row.node_kinds and self._holds(row.constraint, featured)]
            if not known:
                return None
            behind = behind.union(*(row.node_kinds for row in known))
        return behind or None

    def _holds(self, constraint: str, featured: Optional[FrozenSet[str]]) -> bool:
        """Tell whether a fact that holds for *constraint* only holds for a request that gets the *featured* kinds."""
        if not constraint:
            return True
        meant = kinds_with(constraint, {kind.name: kind.features for kind in self.kinds})
        return featured is not None and meant is not None and featured <= meant


ELSEWHERE = NodeKind("elsewhere")  # a kind of node that the site file does not describe
GENERIC_SLURM = Site("generic-slurm", "0", "slurm")
GENERIC_PBS = Site("generic-pbs", "0", "pbs")


# Which nodes a feature expression (`--constraint`) can mean.
#
# Slurm's own words for it: features joined by `&` or `|`, in parentheses or brackets, with `*N` for a number of nodes.

Names = Optional[FrozenSet[str]]  # None: may be any

_TOKEN = re.compile(r"[\w.:+-]+|[&|()\[\]]")
_CLOSES = {"(": ")", "[": "]"}


def kinds_with(constraint: str, features: Dict[str, Tuple[str, ...]]) -> Names:
    """Return the names whose *features* may satisfy *constraint*, None where it says nothing about them.

    A name with no features listed may have any. A feature that nobody lists, a count of nodes (the other nodes of the
    job may be of any kind), `&` mixed with `|` and whatever else is not understood limit nothing.
    """
    tokens = _TOKEN.findall(constraint)
    if not tokens or "".join(tokens) != constraint:
        return None
    tokens.append("")
    try:
        names = _expression(tokens, features)
    except _NotUnderstood:
        return None
    return names if tokens == [""] else None


class _NotUnderstood(Exception):
    """The expression is not one we know how to read."""


def _expression(tokens: List[str], features: Dict[str, Tuple[str, ...]]) -> Names:
    """Read alternatives or conjunctions off the front of *tokens*."""
    names = _operand(tokens, features)
    operator = tokens[0] if tokens[0] in ("&", "|") else ""
    while operator and tokens[0] == operator:
        tokens.pop(0)
        other = _operand(tokens, features)
        names = _both(names, other) if operator == "&" else _either(names, other)
    if tokens[0] in ("&", "|"):
        raise _NotUnderstood
    return names


def _operand(tokens: List[str], features: Dict[str, Tuple[str, ...]]) -> Names:
    """Read one feature, or one expression in parentheses or brackets."""
    token = tokens.pop(0)
    if token in _CLOSES:
        names = _expression(tokens, features)
        if tokens.pop(0) != _CLOSES[token]:
            raise _NotUnderstood
        return names
    if not token or token in "&|)]":
        raise _NotUnderstood
    if not any(token in listed for listed in features.values()):
        return None
    return frozenset(name for name, listed in features.items() if token in listed or not listed)


def _both(first: Names, other: Names) -> Names:
    if first is None or other is None:
        return other if first is None else first
    return first & other


def _either(first: Names, other: Names) -> Names:
    return None if first is None or other is None else first | other
