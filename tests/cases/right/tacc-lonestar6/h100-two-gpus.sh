#!/bin/bash
#SBATCH -p gpu-h100
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 00:30:00
#SBATCH -J h100

NGPU=2
python -m torch.distributed.run --standalone --nnodes 1 --nproc_per_node $NGPU train.py 2>&1 | tee log.$SLURM_JOB_ID
