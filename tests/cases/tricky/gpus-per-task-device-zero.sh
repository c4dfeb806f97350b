#!/bin/bash
# Tricky: --gpus-per-task shows each task one device, so LOCAL_RANK is 0 for all and nothing is shared.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1) MASTER_PORT=29500
srun --gpus-per-task=1 bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=0 python train.py'
