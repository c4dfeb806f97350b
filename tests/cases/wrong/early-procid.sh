#!/bin/bash
# Wrong: RANK is expanded in the batch shell: every task is rank 0.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID
srun python train.py
