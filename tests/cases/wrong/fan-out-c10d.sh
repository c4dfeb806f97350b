#!/bin/bash
# Wrong: two tasks a node each start two workers; four agents join a world of two.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
