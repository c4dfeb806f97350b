#!/bin/bash
# Tricky: --node_rank is expanded too early (0 on both nodes), but the c10d rendezvous does not use it.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
