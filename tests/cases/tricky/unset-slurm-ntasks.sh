#!/bin/bash
# Tricky: SLURM_NTASKS is unset first, so srun's own --ntasks-per-node=1 holds.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun -N 2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
