"""The nine clusters as a user knows them: where GPU jobs go, what a node has, what the site wants to be told.

Written from the centres' own pages, not read from the site files: an expected value that came from Maple would prove
nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a job may go. *ranks*: devices a node; *memory*: GB of each; *hours*: the most; *nodes*: the most here.

    *kind*: the site's own name of such a node; *said*: how users name its GPU. *least*: nodes that a job must have.
    """

    name: str
    ranks: int
    memory: int
    nodes: int
    hours: int
    kind: str
    said: str
    least: int = 1


class Where(NamedTuple):
    """A cluster. *calls*: its names among users. *word*: what a place is called there. *accounts*: made-up ones.

    *demands*: the slots without which its documents say that a job is refused or meaningless, beside nodes.
    """

    site: str
    calls: tuple[str, ...]
    scheduler: str
    word: str  # "partition", "queue" or "qos"
    places: tuple[Place, ...]
    accounts: tuple[str, ...]
    demands: tuple[str, ...]
    file_systems: tuple[str, ...] = ()


WHERE: tuple[Where, ...] = (
    Where("tacc-lonestar6", ("Lonestar6", "LS6", "Lonestar 6", "ls6 at TACC"), "slurm", "partition",
          (Place("gpu-a100", 3, 40, 4, 48, "gpu-a100", "A100"),),
          ("TG-ASC190042", "DL-Lab23", "IRI-22991"), ("nodes", "walltime", "partition")),
    Where("tacc-stampede3", ("Stampede3", "TACC Stampede3", "stampede3"), "slurm", "partition",
          (Place("h100", 4, 96, 4, 48, "h100", "H100"),),
          ("TG-CIS210014", "OTH24011"), ("nodes", "walltime", "partition")),
    Where("tacc-vista", ("Vista", "TACC's Vista", "vista"), "slurm", "partition",
          (Place("gh", 1, 96, 4, 48, "gh", "GH200"),),
          ("TG-MCH250003", "NAIRR240117"), ("nodes", "walltime", "partition")),
    Where("nersc-perlmutter", ("Perlmutter", "NERSC Perlmutter", "perlmutter"), "slurm", "qos",
          (Place("regular", 4, 40, 4, 48, "gpu-a100-40", "A100"),
           Place("premium", 4, 40, 4, 48, "gpu-a100-40", "A100")),
          ("m4567_g", "m1759_g", "nstaff_g"), ("qos",)),
    Where("alcf-aurora", ("Aurora", "ALCF Aurora", "aurora"), "pbs", "queue",
          (Place("debug", 12, 62, 2, 1, "gpu", ""), Place("debug-scaling", 12, 62, 4, 1, "gpu", "", 2),
           Place("capacity", 12, 62, 4, 168, "gpu", "")),
          ("AlphaTrain", "datascience", "Catalyst-ML"), ("account", "walltime", "filesystems", "queue"),
          ("home:flare", "flare", "home:daos_user_fs")),
    Where("ncsa-delta", ("Delta", "NCSA Delta", "delta"), "slurm", "partition",
          (Place("gpuA100x4", 4, 40, 4, 48, "A100x4", "A100"), Place("gpuA40x4", 4, 48, 4, 48, "A40x4", "A40")),
          ("bbka-delta-gpu", "bcxt-delta-gpu"), ("account",)),
    Where("ncsa-deltaai", ("DeltaAI", "Delta AI", "NCSA's DeltaAI"), "slurm", "partition",
          (Place("ghx4", 4, 96, 4, 48, "GH200x4", "GH200"),),
          ("bbka-dtai-gh", "bdiy-dtai-gh"), ("account",)),
    Where("purdue-anvil", ("Anvil", "Purdue Anvil", "anvil"), "slurm", "partition",
          (Place("gpu", 4, 40, 3, 48, "a100", "A100"), Place("ai", 4, 80, 3, 48, "h100", "H100")),  # 12 GPUs a user
          ("cis220051", "asc230018"), ("account",)),
    Where("psc-bridges2", ("Bridges-2", "PSC Bridges-2", "bridges2"), "slurm", "partition",
          (Place("GPU", 8, 80, 4, 48, "h100-80", "H100"), Place("GPU", 8, 32, 4, 48, "v100-32", "V100-32")),
          ("cis240021p", "mth210006p"), ("partition",)),
)  # fmt: skip
BY_SITE = {one.site: one for one in WHERE}


def account_of(where: Where, place: Place, account: str) -> str:
    """Return the account as it is charged there: Anvil has one for each kind of node."""
    return f"{account}-{place.name}" if where.site == "purdue-anvil" else account
