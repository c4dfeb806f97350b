#!/bin/bash
# Tricky: localhost as master is right on one node.
#SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=4 LOCAL_RANK=$SLURM_LOCALID python train.py'
