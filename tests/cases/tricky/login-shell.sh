#!/bin/sh -l
# Tricky: a login shell reads the user's profile first, which may set anything.
# site: purdue-anvil
# lab: no (a login shell has no stand-ins on its PATH)
#SBATCH -A cis220051-gpu
#SBATCH -p gpu-debug
#SBATCH --nodes=1
#SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=2
#SBATCH -t 0:15:00

MASTER_ADDR=localhost
MASTER_PORT=29500
export MASTER_ADDR MASTER_PORT
srun -n 2 sh -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=2 python train.py'
