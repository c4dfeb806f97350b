"""The files a lab's daemons read: slurm.conf, gres.conf, hosts, job_submit.lua. Values in, text out."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from tests.lab.lua import needs_lua
from tests.lab.processes import plugins
from tests.lab.shape import DAY, NodeGroup, PartitionShape, Shape


class Layout(NamedTuple):
    """Where one lab lives: directory, user, ports, the controller's address and an address for each node."""

    directory: str
    user: str
    base_port: int
    controller: str
    addresses: tuple[str, ...]
    own_networks: bool
    plugins: str = ""  # where Slurm's plugins are, "" where its programs know


def plugin_line(folder: Optional[str] = None) -> str:
    """Return the line of slurm.conf that says where the plugins are, "" where Slurm's programs know by themselves."""
    folder = plugins() if folder is None else folder
    return f"PluginDir={folder}\n" if folder else ""


def hosts_file(shape: Shape, layout: Layout, submit_host: str) -> str:
    """Return the hosts file every node sees."""
    lines = ["127.0.0.1 localhost", f"{layout.controller} {submit_host} lab-login"]
    lines += [f"{address} {host}" for address, (host, _) in zip(layout.addresses, shape.hosts())]
    return "\n".join(lines) + "\n"


def gres_conf(shape: Shape, devices: Sequence[str]) -> str:
    """Return gres.conf; *devices* are device files that exist, used from the first on every node."""
    lines = ["AutoDetect=off"]
    for group in shape.groups:
        if group.gpus and group.gres:
            kind = f" Type={group.gpu_type}" if group.gpu_type else ""
            files = ",".join(devices[: group.gpus])
            lines.append(f"NodeName={_names(group)} Name=gpu{kind} File={files} Flags={group.vendor}_gpu_env")
    return "\n".join(lines) + "\n"


def slurm_conf(shape: Shape, layout: Layout) -> str:
    """Return slurm.conf (facts of Slurm 22.05; also right for 25.11)."""
    head = _HEAD.format(
        lab=layout.directory,
        name=shape.cluster_name,
        user=layout.user,
        at=layout.controller,
        port=layout.base_port,
    )
    lines = [head + "\n" + plugin_line(layout.plugins).rstrip("\n")]
    if any(group.gpus and group.gres for group in shape.groups):
        lines.append("GresTypes=gpu")
    if needs_lua(shape):
        lines.append("JobSubmitPlugins=lua")
    lines += _node_lines(shape, layout)
    lines += [_partition_line(partition, shape) for partition in shape.partitions]
    return "\n".join(lines) + "\n"


def _node_lines(shape: Shape, layout: Layout) -> list[str]:
    lines = []
    for index, (host, group) in enumerate(shape.hosts()):
        # Each slurmd listens on every address, so nodes that share a network need ports of their own.
        port = layout.base_port + (1 if layout.own_networks else 1 + index)
        words = [f"NodeName={host} NodeHostname={host} NodeAddr={layout.addresses[index]} Port={port}"]
        words.append(f"Sockets=1 CoresPerSocket={group.cores} ThreadsPerCore={group.threads_per_core}")
        words.append(f"RealMemory={group.memory_gib * 1024} State=UNKNOWN")
        if group.gpus and group.gres:
            words.append("Gres=gpu:" + (f"{group.gpu_type}:" if group.gpu_type else "") + str(group.gpus))
        if group.features:
            words.append("Feature=" + ",".join(group.features))
        lines.append(" ".join(words))
    return lines


def _partition_line(partition: PartitionShape, shape: Shape) -> str:
    nodes = ",".join(_names(group) for group in shape.groups if group.name in partition.groups)
    words = [f"PartitionName={partition.name} Nodes={nodes} State=UP"]
    limit = "INFINITE" if partition.max_time is None else str(max(1, partition.max_time // 60))
    words.append(f"MaxTime={limit} DefaultTime={min(partition.default_time, partition.max_time or DAY) // 60 or 1}")
    if partition.min_nodes > 1:
        words.append(f"MinNodes={partition.min_nodes}")
    if partition.max_nodes:
        words.append(f"MaxNodes={partition.max_nodes}")
    if partition.default:
        words.append("Default=YES")
    if partition.exclusive:
        words.append("OverSubscribe=EXCLUSIVE")
    return " ".join(words)


def _names(group: NodeGroup) -> str:
    return f"{group.name}-[1-{group.count}]" if group.count > 1 else f"{group.name}-1"


# SrunPortRange: all labs share one; srun takes what is free in it, and a busy lab has used up a hundred.
# config_overrides: believe the CPUs and memory below, not the hardware. The SchedulerParameters bring a batch job from
# ~3 s after sbatch to tenths of a second. task/none, because --cpu-bind=cores fails on cores that do not exist.
_HEAD = """\
ClusterName={name}
SlurmctldHost=localhost({at})
SlurmctldPort={port}
SrunPortRange=63000-65500
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={lab}/run/munge.s
CredType=cred/munge
StateSaveLocation={lab}/state
SlurmdSpoolDir={lab}/spool/%n
SlurmctldPidFile={lab}/run/slurmctld.pid
SlurmdPidFile={lab}/run/slurmd-%n.pid
SlurmctldLogFile={lab}/log/slurmctld.log
SlurmdLogFile={lab}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MailProg=/bin/true
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
EnforcePartLimits=ALL
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/script
JobCompLoc={lab}/etc/job-ended"""
