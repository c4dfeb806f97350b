#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
head_node=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun torchrun \
    --nnodes=4 \
    --nproc_per_node=2 \
    --rdzv_id=$SLURM_JOB_ID \
    --rdzv_backend=c10d \
    --rdzv_conf=join_timeout=25 \
    --rdzv_endpoint=$head_node:29500 \
    train.py
