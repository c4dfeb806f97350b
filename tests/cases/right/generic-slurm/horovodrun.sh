#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --cpus-per-task=1 --gpus-per-node=2
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/:2/' | paste -sd, -)
horovodrun -np 4 -H "$hosts" --start-timeout 120 python train.py --epochs 2
