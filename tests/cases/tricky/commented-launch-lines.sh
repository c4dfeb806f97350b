#!/bin/bash
# Tricky: old launch lines are commented out, also in the middle of continued ones.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
##SBATCH --ntasks-per-node=8
# srun --ntasks-per-node=8 torchrun --nproc_per_node=8 train.py
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)   # MASTER_ADDR=localhost
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py # --nproc_per_node=8
#torchrun --nproc_per_node=8 train.py
