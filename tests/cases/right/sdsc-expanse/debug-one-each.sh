#!/bin/bash
#SBATCH -A abc123
#SBATCH -p gpu-debug
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus=2
#SBATCH --mem=50G
#SBATCH -t 00:10:00
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=29500
srun -n 2 bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=0 WORLD_SIZE=2 python train.py'
