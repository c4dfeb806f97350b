#!/bin/bash
#SBATCH -N1 --ntasks-per-node=1 --gpus-per-node=1 -t 10
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1)
export MASTER_PORT=20001
srun torchrun --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT t.py
