#!/bin/bash
# Wrong: four workers on nodes with one GPU.
# site: tacc-vista
#SBATCH -p gh -N 2 -n 2 -t 00:10:00
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ibrun bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py'
