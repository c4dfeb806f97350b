"""What a site file may say: one class for each table. What is left out is unknown."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Walltime = Annotated[str, Field(pattern=r"^(\d+-)?\d{1,3}:\d\d:\d\d$", description="hh:mm:ss or d-hh:mm:ss")]
Cores = Annotated[str, Field(pattern=r"^\d+(-\d+)?(,\d+(-\d+)?)*$")]
Confidence = Literal["medium", "low"]
Scheduler = Literal["slurm", "pbs"]
Vendor = Literal["nvidia", "amd", "intel"]


class Table(BaseModel):
    """A table of the file: only the keys named here, each with the type named here."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Fact(Table):
    """An entry that says where it comes from.

    *source*: ids of `[sources]`. *confidence*: left out when the centre itself says so; "medium" for a third party that
    cites the centre or measured there, or an older page of the centre; "low": hearsay. Neither proves anything.
    *checked*: when, if not on the date at the top of the file. *says*: what else there is to know, in a sentence.
    """

    source: list[str] = Field(min_length=1)
    confidence: Confidence | None = None
    checked: date | None = None
    says: str = ""

    @property
    def sure(self) -> bool:
        """Tell whether a rule may hear of this fact at all."""
        return self.confidence != "low"

    @property
    def proves(self) -> bool:
        """Tell whether a rule may prove something by this fact."""
        return self.confidence is None


class Source(Table):
    """Where facts come from. *kind*: "center", "center-old" or "third-party"; *date*: of the page, as far as known."""

    title: str
    where: str
    date: str = ""
    kind: Literal["center", "center-old", "third-party"]


class Variable(Fact):
    """A variable of the environment that tells the site: it has this *value*, or *matches* this shell pattern."""

    name: str
    value: str | None = None
    matches: str | None = None


class Detection(Fact):
    """How to know that we are here. A pattern must match the whole host name.

    *host_patterns* prove the site; *ambiguous_host_patterns* are how its hosts look too, and those of other sites.
    *domain*: every host below it belongs to this site.
    """

    variables: list[Variable] = []
    cluster_name: str = ""
    host_patterns: list[str] = []
    ambiguous_host_patterns: list[str] = []
    domain: str = ""
    login_hosts: list[str] = []
    host_examples: list[str] = []


class SchedulerTable(Fact):
    """*partitions_complete*: the source lists every partition (QOS, queue), so a name not in this file does not exist.

    *node_kinds_complete*: the same of kinds of node.
    *plugin_options*: long names that sbatch takes by a plug-in. Only a generic site has no source.
    """

    source: list[str] = []
    type: Scheduler
    version: str = Field("", pattern=r"^(\d+(\.\d+)*)?$")
    default_partition: str = ""
    default_qos: str = ""
    partitions_complete: bool = False
    plugin_options: list[str] = []
    node_kinds_complete: bool = False
    interactive: str = ""
    os: str = ""


class Node(Fact):
    """A kind of node. *gpus*: cards, as the centre counts; *devices*: what a framework counts, where that differs.

    *cores_allocatable*, *memory_allocatable_gib*: the most that a job can ask for, where the system keeps some.
    *threads_default*: of a core, for a job that says nothing of threads.
    *gpu_cores*: the cores near each device, from device 0 on: "48-63".
    *numa_cores*: the cores of each NUMA domain, from domain 0 on; *reserved_cores*: cores that no job gets.
    *gpu_nics*: the number of the network port beside each device, from device 0 on.
    *not_mounted*: folders of the cluster that are not mounted there: "/lustre/scratch".
    *gpu_domain*: devices that are joined by links of their own, where these join less, or more, than a node.
    """

    gpus: Count | None = None
    devices: Count | None = None
    gpu_vendor: Vendor | None = None
    gpu_type: str = ""
    gpu_model: str = ""
    gpu_memory_gib: Count | None = None
    cores: Count | None = None
    cores_allocatable: Count | None = None
    threads_per_core: Count | None = None
    threads_default: Count | None = None
    cpu: str = ""
    memory_gib: Count | None = None
    memory_allocatable_gib: Count | None = None
    features: list[str] = []
    nics: Count | None = None
    interconnect: str = ""
    gpu_cpu_map: str = ""
    gpu_cores: list[Cores] = []
    numa_cores: list[Cores] = []
    reserved_cores: Cores | Literal[""] = ""
    gpu_nics: list[Annotated[int, Field(ge=0)]] = []
    gpu_domain: Count | None = None
    not_mounted: list[Annotated[str, Field(pattern=r"^/\S+$")]] = []
    count: Count | None = None


class SizeBin(Table):
    """A walltime limit for jobs of so many nodes."""

    min_nodes: Count
    max_nodes: Count
    max_walltime: Walltime


class PartitionTable(Fact):
    """A partition, QOS or queue.

    *gpus_per_node*: only where a job gets fewer than the node has, or the kind of node is unknown.
    *gpus_multiple*: the GPUs of a node are given in multiples of this: of all, where nodes are given whole.
    *cpus_with_gpus*: the site's own samples ask for GPUs here and for no CPUs, which come with them.
    *account_ending*: how the accounts end that may be charged here, and no others ("-ai").
    *constraint*, *partition*: the entry holds for jobs that ask for these. *kind*: of a PBS queue. *access*: who may.
    """

    node_kinds: list[str] = []
    gpus_per_node: Count | None = None
    gpu_request: str = ""
    constraint: str = ""
    partition: str = ""
    shared: bool | None = None
    kind: Literal["routing", "execution-only"] | None = None
    access: str = ""
    min_nodes: Count | None = None
    max_nodes: Count | None = None
    min_walltime: Walltime | None = None
    max_walltime: Walltime | None = None
    default_walltime: Walltime | None = None
    size_bins: list[SizeBin] = []
    max_gpus_per_job: Count | None = None
    gpus_multiple: Count | None = None
    cpus_with_gpus: bool | None = None
    account_ending: str = ""
    max_gpus_per_user: Count | None = None
    max_gpus_per_allocation: Count | None = None
    max_cores: Count | None = None
    max_nodes_per_user: Count | None = None
    max_running_jobs: Count | None = None
    max_submitted_jobs: Count | None = None
    charge: str = ""


Style = Literal[
    "whole-node", "gpus-per-node", "gpus-typed-total", "gpus-total", "constraint-and-gpus", "any", "unknown"
]


class GpuRequestTable(Fact):
    """How GPUs are asked for. *form*: with {n} per node, {total}, {type}, {nodes}; *forms*: as the documents say it.

    *on_step*: what the line of srun must say as well, where GPUs are handed out there.
    """

    style: Style
    required: bool = False
    form: str = ""
    on_step: str = ""
    forms: list[str] = []


class DemandTable(Fact):
    """What a request must say. *options*: long names without dashes, any of which will do.

    *effect* of leaving it out: "refused" only where the source says that the submission fails.
    *slot*: what to ask the user for. *applies*: "always", "gpu" or the name of a partition. *usual*: the value that
    the site's own samples say.
    """

    options: list[str] = Field(min_length=1)
    effect: Literal["refused", "bad-default", "may-run-wrongly", "unknown"]
    says: str
    slot: str = ""
    applies: str = "always"
    text: str = ""
    usual: str = ""


class RefusalTable(DemandTable):
    """What a request must not say; "may-run-wrongly" is advice. *values*: only these; *except_values*: not these."""

    values: list[str] = []
    except_values: list[str] = []


class UnfitTable(Fact):
    """Words that do not work here though the scheduler takes them.

    *what*: "mpiexec --gpu-bind", "--backend=ccl" (what a program is told), "-l filesystems=flare" (asked for),
    "module conda", "command sbatch", "word /mnt/bb", "set NAME=value", or a file on a launch line. *loads*: only with
    this module; *unless*: words that make it work; *after*: words without which it does not hold, any of several
    behind bars. *remove* it, write *instead* for it, or write a line *before* its own.
    """

    what: str
    says: str
    loads: str = ""
    unless: str = ""
    remove: bool = False
    instead: str = ""
    before: str = ""
    after: str = ""


class Option(Table):
    """An option that the launcher takes here."""

    flag: str
    means: str
    source: list[str] = []


class LauncherTable(Fact):
    """*state* "absent" only where a source says so: a launch by it is then proven wrong. *options*: what it takes."""

    state: Literal["preferred", "present", "discouraged", "absent", "unknown"]
    implementation: str = ""
    options: list[Option] = []


class Ranks(Fact):
    """Which variables tell a task its rank here, and how the master is found."""

    global_rank: list[str] = []
    local_rank: list[str] = []
    node_rank: list[str] = []
    world_size: list[str] = []
    pattern: Literal["one-rank-per-gpu", "one-torchrun-per-node", "one-rank-per-tile"] | None = None
    mpi: list[str] = []
    master_addr: str = ""
    master_port: Count | None = None


class Affinity(Fact):
    """How ranks are bound to cores, GPUs and adapters."""

    setting: str
    value: str = ""
    when: str = ""
    advice: str = ""


class Load(Fact):
    """Lines that bring a framework, and what to do *then*."""

    load: list[str]
    then: str = ""


class Modules(Fact):
    """The module system. *scheduler*: the one that srun comes from. *environment*: where people keep Python."""

    system: str = ""
    scheduler: str = ""
    reset: str = ""
    environment: str = ""
    pytorch: list[Load] = []
    other: list[Fact] = []


class Containers(Fact):
    """Which container runtime there is and how it is used."""

    runtime: str
    version: str = ""
    load: str = ""
    where: str = ""
    usage: str = ""


class TransportVariable(Fact):
    """A variable for the transport. *status* "avoid": leave it unset; *except_for*: names the pattern does not mean."""

    name: str
    value: str = ""
    prepend: list[str] = []
    except_for: list[str] = []
    when: str = ""
    status: Literal["recommended", "optional", "default", "avoid", "older", "conflicting"] = "recommended"


class Network(Fact):
    """*interface*: for GLOO_SOCKET_IFNAME and the like. *node_name_suffix*: turns a host name to the fast network's."""

    fabric: str = ""
    interface: str = ""
    interfaces: list[str] = []
    node_name_suffix: str = ""
    variables: list[TransportVariable] = []


class Proxy(Fact):
    """What a compute node needs to reach the internet. No address: none is documented, or none is needed."""

    http: str = ""
    https: str = ""
    ftp: str = ""
    all: str = ""
    no_proxy: str = ""
    where: str = ""
    module: str = ""


class Place(Fact):
    """A path, or a variable that holds one."""

    name: str
    value: str = ""


class Advice(Fact):
    """An option worth saying in some cases; nothing is proven by it."""

    options: list[str]
    says: str


class Rejection(Fact):
    """What the user sees when something is refused. *text* empty: it is refused, the wording is not known."""

    stage: Literal["submit", "pending", "submit-or-pending", "runtime", "query"]
    trigger: str
    text: str = ""
    partial: bool = False
    followed_by: str = ""
    stream: str = ""


class Example(Fact):
    """Launch lines as the documents give them."""

    case: str
    lines: list[str]


class Conflict(Fact):
    """Where the sources disagree."""

    topic: str


class SiteFile(Table):
    """A site file. Times are hh:mm:ss; sizes are GiB; what is unknown is left out, or listed in *unknown*."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    name: str
    center: str = ""
    family: str = ""
    aliases: list[str] = []
    account_shapes: list[str] = []
    cpu_arch: Literal["x86_64", "aarch64"] | None = None
    gpu_vendors: list[Vendor] = []
    checked: date
    mode: Literal["off", "observe", "warn", "repair"] | None = None
    unknown: list[str] = []

    scheduler: SchedulerTable
    detection: Detection | None = None
    node: dict[str, Node] = {}
    partition: dict[str, PartitionTable] = {}
    qos: dict[str, PartitionTable] = {}
    queue: dict[str, PartitionTable] = {}
    gpu_request: GpuRequestTable | None = None
    demand: dict[str, DemandTable] = {}
    refusal: dict[str, RefusalTable] = {}
    unfit: dict[str, UnfitTable] = {}
    advice: list[Advice] = []
    launcher: dict[str, LauncherTable] = {}
    ranks: Ranks | None = None
    affinity: list[Affinity] = []
    modules: Modules | None = None
    containers: Containers | None = None
    network: Network | None = None
    environment: list[Fact] = []
    proxy: Proxy | None = None
    path: list[Place] = []
    policy: list[Fact] = []
    submit_output: Fact | None = None
    rejection: list[Rejection] = []
    example: list[Example] = []
    quirk: list[Fact] = []
    conflict: list[Conflict] = []
    sources: dict[str, Source] = {}
