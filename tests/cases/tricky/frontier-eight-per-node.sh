#!/bin/bash
# Tricky: eight devices on a node with four cards (two GCDs each), and no GPU request to sbatch.
# site: olcf-frontier
#SBATCH -A abc123
#SBATCH -N 1
#SBATCH -p batch
#SBATCH -t 30
export MASTER_ADDR=$(hostname) MASTER_PORT=29500
srun -n8 --gpus-per-node=8 -c7 bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
