#!/bin/bash
#SBATCH -J cpu-gloo
#SBATCH -p spr
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 00:20:00
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ibrun bash -c 'torchrun --nnodes=1 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_id=cpu --rdzv_endpoint=$HEAD:29400 train.py --backend gloo'
