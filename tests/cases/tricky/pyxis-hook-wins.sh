#!/bin/bash
# Tricky: what the hook sets wins over what the job exports.
# lab: no (no pyxis there)
#SBATCH -N 4 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
export WORLD_SIZE=32 MASTER_PORT=29500 MASTER_ADDR=localhost RANK=0 LOCAL_RANK=0
srun --container-name=train python train.py
