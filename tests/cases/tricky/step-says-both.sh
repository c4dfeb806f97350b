#!/bin/bash
# Tricky: the job has eight tasks, but this step says --ntasks=2 --ntasks-per-node=1.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
