#!/bin/bash
# Tricky: both branches hold a launch line, one of them runs.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
if [[ $SLURM_NNODES -gt 1 ]]; then
    HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
    srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
else
    torchrun --standalone --nproc_per_node=4 train.py
fi
