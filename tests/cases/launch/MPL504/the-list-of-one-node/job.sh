#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=4 --cpus-per-task=8 --gpus-per-node=4
export MASTER_ADDR=$SLURM_JOB_NODELIST MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
