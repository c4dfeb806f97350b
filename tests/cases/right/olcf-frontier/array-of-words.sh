#!/bin/bash
#SBATCH -p batch
#SBATCH -A abc123
#SBATCH -t 01:00:00
#SBATCH -N 2

export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1) MASTER_PORT=29500
launch=(srun -N 2 -n 16 --ntasks-per-node=8 -c 7 --gpus-per-node=8)
setup='export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID'
"${launch[@]}" bash -c "$setup; python train.py"
