#!/bin/bash
# Tricky: a CPU queue: no GPU at all, sixteen gloo ranks a node are fine.
# site: tacc-lonestar6
#SBATCH -p normal
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 00:30:00
export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
ibrun bash -c 'torchrun --nnodes=1 --nproc_per_node=6 --rdzv_backend=c10d --rdzv_id=3 --rdzv_endpoint=$HEAD:29500 train.py --backend=gloo'
