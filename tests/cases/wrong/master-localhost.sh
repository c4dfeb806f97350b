#!/bin/bash
# Wrong: localhost as the master of two nodes.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=localhost MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
