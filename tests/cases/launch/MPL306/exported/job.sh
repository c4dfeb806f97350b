#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$HEAD WORLD_SIZE=4
srun bash -c 'RANK=$SLURM_PROCID python train.py'
