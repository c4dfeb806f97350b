#!/bin/sh
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
