#!/bin/bash
# Tricky: one GPU a node, so one rank a node is all there is.
# site: tacc-vista
#SBATCH -p gh -N 2 -n 2 -t 00:10:00
export M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
ibrun bash -c 'torchrun --nnodes=2 --nproc_per_node=1 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$M:29500 train.py'
