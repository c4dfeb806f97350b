#!/bin/bash
# Tricky: --nnodes=1:2 takes any number of nodes between one and two.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=1:2 --nproc_per_node=2 --max_restarts=3 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
