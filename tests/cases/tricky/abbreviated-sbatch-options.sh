#!/bin/bash
# Tricky: sbatch takes unambiguous prefixes too: --ntasks-per-n, --gpus-per-n.
#SBATCH --nodes=2 --ntasks-per-n=1 --gpus-per-n=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
