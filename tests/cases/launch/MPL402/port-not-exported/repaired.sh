#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) WORLD_SIZE=$SLURM_NTASKS
export MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID python train.py'
