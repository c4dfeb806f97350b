#!/bin/bash
# Tricky: #SBATCH --export=NONE; srun is told ALL again, so the tasks get the variables.
# site: purdue-anvil
#SBATCH -A cis220051-gpu
#SBATCH -p gpu
#SBATCH -N 1
#SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=2
#SBATCH -t 10
# lab: no (a fresh login environment has no stand-ins on its PATH)
#SBATCH --export=NONE
export SLURM_EXPORT_ENV=ALL
export MASTER_ADDR=$(hostname) MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
