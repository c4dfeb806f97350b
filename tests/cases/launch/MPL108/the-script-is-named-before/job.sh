#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun --ntasks=8 --ntasks-per-node=4 python train.py \
  --lr 0.1 \
  # --debug \
  --epochs 3
