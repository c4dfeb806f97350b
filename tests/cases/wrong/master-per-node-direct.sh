#!/bin/bash
# Wrong: every node takes itself for the master, without a launcher.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
srun bash -c 'export MASTER_ADDR=$(hostname) MASTER_PORT=29500 RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; python train.py'
