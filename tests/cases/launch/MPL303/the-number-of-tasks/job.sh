#!/bin/bash
#SBATCH -N2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
NN=$((SLURM_NTASKS * 2))
srun torchrun --nnodes=$NN --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
