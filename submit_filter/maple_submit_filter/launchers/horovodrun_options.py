"""horovodrun: ranks on this host, or on the hosts that it is told; it reads no allocation of Slurm or PBS.

From the parser of Horovod 0.28 (horovod/runner/launch.py); it was not run. Options that only tune stand here so that
the program behind them is found.
"""

from __future__ import annotations

from .grammar import ARGPARSE, Table, table

TABLE: Table = table(
    "horovodrun",
    ARGPARSE,
    """
    -np --num-proc 1
    -H --hosts 1
    -hostfile --hostfile 1
    --config-file 1
    --min-np --min-num-proc 1
    --max-np --max-num-proc 1
    --slots-per-host 1
    --host-discovery-script 1
    -v --version 0
    -cb --check-build 0
    --disable-cache 0
    --verbose 0
    --start-timeout 1
    --network-interfaces 1
    --network-interface 1
    --output-filename 1
    -p --ssh-port 1
    -i --ssh-identity-file 1
    --fusion-threshold-mb 1
    --cycle-time-ms 1
    --cache-capacity 1
    --hierarchical-allreduce 0
    --no-hierarchical-allreduce 0
    --hierarchical-allgather 0
    --no-hierarchical-allgather 0
    --autotune 0
    --no-autotune 0
    --autotune-log-file 1
    --autotune-warmup-samples 1
    --autotune-steps-per-sample 1
    --autotune-bayes-opt-max-samples 1
    --autotune-gaussian-process-noise 1
    --elastic-timeout 1
    --reset-limit 1
    --blacklist-cooldown-range 2
    --timeline-filename 1
    --timeline-mark-cycles 0
    --no-timeline-mark-cycles 0
    --no-stall-check 0
    --stall-check 0
    --stall-check-warning-time-seconds 1
    --stall-check-shutdown-time-seconds 1
    --log-level 1
    --log-hide-timestamp 0
    --log-with-timestamp 0
    --no-log-hide-timestamp 0
    --mpi-threads-disable 0
    --no-mpi-threads-disable 0
    --mpi-args 1
    --num-nccl-streams 1
    --thread-affinity 1
    --binding-args 1
    --gloo-timeout-seconds 1
    --tcp 0
    --prefix-output-with-timestamp 0
    --gloo 0
    --mpi 0
    --jsrun 0
    """,
)
