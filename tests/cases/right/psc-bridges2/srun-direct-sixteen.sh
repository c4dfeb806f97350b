#!/bin/bash
#SBATCH -N 2
#SBATCH -p GPU
#SBATCH --gpus=v100-16:16
#SBATCH --ntasks-per-node=8
#SBATCH -t 1:00:00

export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=29400
srun --mpi=none bash -c \
  'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID \
   python train.py'
