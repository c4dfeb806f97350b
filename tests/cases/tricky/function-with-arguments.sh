#!/bin/bash
# Tricky: a function is called twice with other arguments, one after the other.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
train() {
    local nodes=$1 procs=$2
    shift 2
    srun -N $nodes -n $nodes torchrun --nnodes=$nodes --nproc_per_node=$procs --rdzv_id=$RANDOM --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 "$@"
}
train 1 2 warmup.py
train 2 4 train.py
