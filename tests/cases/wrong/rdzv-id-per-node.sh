#!/bin/bash
# Wrong: each node has a rendezvous id of its own.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=$RANDOM --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py'
