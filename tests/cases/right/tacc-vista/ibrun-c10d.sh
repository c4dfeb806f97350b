#!/bin/bash
#SBATCH --job-name=gh4
#SBATCH --partition=gh
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --time=02:00:00
#SBATCH --output=%x-%j.log

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
ibrun torchrun --nnodes=4 --nproc_per_node=1 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=${first}:29500 train.py
