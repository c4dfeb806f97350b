#!/bin/bash
#SBATCH -A m1234_g
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -N 2
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH -t 01:00:00

NNODES=$SLURM_JOB_NUM_NODES
export MASTER_ADDR=`scontrol show hostnames $SLURM_JOB_NODELIST | head -1`
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# one task per GPU, thirty-two hardware threads each
srun -N$NNODES -n$((NNODES*4)) -c32 --gpus-per-node=4 bash -c '
export RANK=$SLURM_PROCID
export WORLD_SIZE=$SLURM_NTASKS
export LOCAL_RANK=$SLURM_LOCALID
exec python -u train.py
'
