#!/bin/bash
# Tricky: --nproc_per_node=auto counts the devices at run time.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=auto --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
