#!/bin/bash
# Tricky: SLURM_GPUS_ON_NODE read inside the task shell.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=3
export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=$SLURM_GPUS_ON_NODE --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py'
