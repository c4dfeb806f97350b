"""torchrun's options, and those of `python -m torch.distributed.run` and `torch.distributed.launch`.

Compared with torch 2.13.0. Every option but --logs-specs and --numa-binding has a default in the environment:
PET_NNODES for --nnodes, and so on.
"""

from __future__ import annotations

from typing import Mapping, Optional

from .grammar import ARGPARSE, Table, extended, table
from .record import AgentRecord

RECORD = AgentRecord(
    "torchrun", b"torchrun", (b"torchrun", b"torchrun_jsc"), (b"torch.distributed.run",),
    nodes="nnodes", ranks="nproc-per-node", node_rank="node-rank", spelled_node_rank=b"--node-rank",
)  # fmt: skip

TABLE: Table = table(
    "torchrun",
    ARGPARSE,
    """
    -h --help 0
    --nnodes 1
    --nproc-per-node --nproc_per_node 1
    --rdzv-backend --rdzv_backend 1
    --rdzv-endpoint --rdzv_endpoint 1
    --rdzv-id --rdzv_id 1
    --rdzv-conf --rdzv_conf 1
    --standalone 0
    --max-restarts --max_restarts 1
    --monitor-interval --monitor_interval 1
    --start-method --start_method 1
    --event-log-handler --event_log_handler 1
    --role 1
    -m --module 0
    --no-python --no_python 0
    --run-path --run_path 0
    --log-dir --log_dir 1
    -r --redirects 1
    -t --tee 1
    --local-ranks-filter --local_ranks_filter 1
    --duplicate-stdout-filters --duplicate_stdout_filters 1
    --duplicate-stderr-filters --duplicate_stderr_filters 1
    --node-rank --node_rank 1
    --master-addr --master_addr 1
    --master-port --master_port 1
    --local-addr --local_addr 1
    --logs-specs --logs_specs 1
    --numa-binding --numa_binding 1
    --signals-to-handle --signals_to_handle 1
    --shutdown-timeout --shutdown_timeout 1
    --virtual-local-rank --virtual_local_rank 0
    """,
)

LAUNCH_TABLE: Table = extended(TABLE, "torch.distributed.launch", "--use-env --use_env 0\n--logdir 1 only torch<1.9")

DEFAULTS: Mapping[str, bytes] = {
    "nnodes": b"1:1",
    "nproc-per-node": b"1",
    "rdzv-backend": b"static",
    "rdzv-endpoint": b"",
    "rdzv-id": b"none",
    "rdzv-conf": b"",
    "max-restarts": b"0",
    "node-rank": b"0",
    "master-addr": b"127.0.0.1",
    "start-method": b"spawn",
    "role": b"default",
}

_NOT_FROM_ENVIRONMENT = ("help", "logs-specs", "numa-binding", "use-env", "logdir")


def environment_name(option: str) -> Optional[bytes]:
    """Return the variable that gives the option's default, None where none does."""
    if option in _NOT_FROM_ENVIRONMENT:
        return None
    return b"PET_" + option.replace("-", "_").upper().encode()
