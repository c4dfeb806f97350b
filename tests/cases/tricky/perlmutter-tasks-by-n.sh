#!/bin/bash
# Tricky: -n 8 over -N 2 gives four a node although --ntasks-per-node is never said.
# site: nersc-perlmutter
#SBATCH -A m1_g -C gpu -q debug -t 10
#SBATCH -N 2 -n 8 --gpus-per-node=4 -c 32
export MASTER_ADDR=$(hostname) MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
