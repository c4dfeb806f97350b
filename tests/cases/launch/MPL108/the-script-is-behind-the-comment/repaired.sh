#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun torchrun --nproc_per_node=4 \
  \
  train.py \
  --lr 1
