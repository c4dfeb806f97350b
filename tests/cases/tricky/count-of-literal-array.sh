#!/bin/bash
# Tricky: ${#hosts[@]} and ${hosts[0]} of an array of host names.
#SBATCH --nodes=3 --ntasks-per-node=1 --gpus-per-node=2
hosts=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
srun torchrun --nnodes=${#hosts[@]} --nproc_per_node=2 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=${hosts[0]}:29500 train.py
