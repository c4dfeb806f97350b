#!/bin/bash
#SBATCH -p batch
#SBATCH -A abc123
#SBATCH -t 00:30:00
#SBATCH -N 2

export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29500
srun -N $SLURM_NNODES -n $((SLURM_NNODES*8)) -c 7 --gpus-per-node=8 bash -c 'export RANK=$SLURM_PROCID; export WORLD_SIZE=$SLURM_NTASKS; export LOCAL_RANK=$SLURM_LOCALID; python -u train.py'
