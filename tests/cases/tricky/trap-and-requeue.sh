#!/bin/bash
# Tricky: a USR1 handler requeues the job; the launch runs in the background so that the trap is served.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
#SBATCH --signal=B:USR1@120 --requeue
requeue() {
    echo "time is nearly up"
    scontrol requeue "$SLURM_JOB_ID"
}
trap requeue USR1
trap 'kill 0' TERM
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py --resume auto &
wait $!
