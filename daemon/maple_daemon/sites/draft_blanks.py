"""What only a person can say of a cluster, as tables of a site file that are ready to be filled in."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

_SOURCE = 'source = ["site"]'
_SLURM = """\
[gpu_request]
style = "gpus-per-node"                 # or whole-node, gpus-total, gpus-typed-total, constraint-and-gpus, any
form = "--gpus-per-node={n}"            # {n} per node, {total}, {type}, {nodes}; whole-node has none

[demand.account]
options = ["account"]
effect = "unknown"                      # "refused" only where sbatch refuses a job without it
says = "name your project: --account=<project>"
slot = "account"
# text = "what sbatch says then"          # left out as long as nobody has seen it

[refusal.mem]
options = ["mem"]                       # what a request must not say
effect = "unknown"
says = "memory comes with the cores"
"""
_PBS = """\
[gpu_request]
style = "whole-node"                    # or any, where chunks ask for ngpus

[demand.account]
options = ["account"]                   # -A; where -P says who pays, "project"
effect = "unknown"                      # "refused" only where qsub refuses a job without it
says = "name your project: -A <project>"
slot = "account"
# text = "what qsub says then"          # left out as long as nobody has seen it

[demand.filesystems]
options = ["filesystems"]               # a resource that every job has to ask for
effect = "unknown"
says = "name each file system that the job needs: -l filesystems=<a>:<b>"
slot = "filesystems"
"""
_BOTH = """\
[network]
interface = "ib0"                       # of the nodes, for GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME

[[network.variables]]
name = "NCCL_CROSS_NIC"
value = "1"
status = "recommended"                  # optional, default, avoid

[modules]
system = "Lmod"

[[modules.pytorch]]
load = ["module load pytorch"]

[containers]
runtime = "apptainer"
usage = "apptainer exec --nv <image> ..."

[proxy]
http = "http://proxy.example.org:3128"  # by which a node reaches the internet
where = "compute nodes"

[[path]]
name = "$SCRATCH"
value = "/scratch/<user>"

[[policy]]
says = "four running jobs for each user"
"""
_HEAD = (
    "The same, ready to be filled in: take the # away from the tables that you can vouch for, and from [sources.site].",
    "`maple site lint` names each mistake; site_configs/example.toml explains every key there is.",
)


def text_of(scheduler: str, drafted: Sequence[str], today: datetime.date) -> str:
    """Return the tables in comments; lines that begin with `#` and no blank are the file's own. *drafted*: the names of
    tables that the file has, which could not stand there twice.
    """
    tables = ((_PBS if scheduler == "pbs" else _SLURM) + "\n" + _BOTH).strip("\n").split("\n\n")
    left = ["%s\n%s" % (table, _SOURCE) for table in tables if _name(table) not in drafted]
    own = '[sources.site]\ntitle = "what its administrators say"\nwhere = "us"\ndate = "%s"\nkind = "center"' % today
    lines = "\n\n".join([*left, own]).split("\n")
    return "\n".join([*("# " + line for line in _HEAD), "", *("#" + line if line else "" for line in lines)]) + "\n"


def _name(table: str) -> str:
    return table.split("\n")[0].strip("[]")
