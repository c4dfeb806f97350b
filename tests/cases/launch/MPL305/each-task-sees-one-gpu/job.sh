#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 --gpus-per-task=1
export MASTER_ADDR=$(hostname) MASTER_PORT=29500 WORLD_SIZE=8 LOCAL_RANK=0
export RANK=$SLURM_PROCID
srun python train.py
