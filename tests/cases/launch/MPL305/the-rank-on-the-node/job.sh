#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$HEAD MASTER_PORT=29500 WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'RANK=$SLURM_LOCALID LOCAL_RANK=$SLURM_LOCALID python train.py'
