"""The deepspeed runner's options. Compared with deepspeed 0.19.8: underscores only, and they may be shortened."""

from __future__ import annotations

from typing import Mapping

from .grammar import ARGPARSE, Table, table
from .record import AgentRecord

RECORD = AgentRecord(
    "deepspeed", b"deepspeed", (b"deepspeed",), (b"deepspeed.launcher.runner",),
    nodes="num-nodes", ranks="num-gpus", node_rank="node-rank", spelled_node_rank=b"--node_rank",
)  # fmt: skip

TABLE: Table = table(
    "deepspeed",
    ARGPARSE,
    """
    -h --help 0
    -H --hostfile 1
    -i --include 1
    -e --exclude 1
    --num_nodes 1
    --num_gpus --num_accelerators 1
    --master_port 1
    --master_addr 1
    --node_rank 1
    --launcher 1
    --launcher_args 1
    --module 0
    --no_python 0
    --no_local_rank 0
    --no_ssh 0
    --no_ssh_check 0
    --force_multi 0
    --save_pid 0
    --enable_each_rank_log 1
    --autotuning 1
    --bind_cores_to_rank 0
    --bind_core_list 1
    --ssh_port 1
    --venv_script 1
    --log_level 1
    -q --quiet 0
    --elastic_training 0 only other releases
    --min_elastic_nodes 1 only other releases
    --max_elastic_nodes 1 only other releases
    """,
)

DEFAULTS: Mapping[str, bytes] = {
    "hostfile": b"/job/hostfile",
    "include": b"",
    "exclude": b"",
    "num-nodes": b"-1",
    "num-gpus": b"-1",
    "master-port": b"29500",
    "master-addr": b"",
    "node-rank": b"-1",
    "launcher": b"pdsh",
}
