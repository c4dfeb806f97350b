#!/bin/bash
# Tricky: CUDA_VISIBLE_DEVICES=$SLURM_LOCALID in the task shell gives each rank a GPU of its own.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1) MASTER_PORT=29500
srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=0 python train.py'
