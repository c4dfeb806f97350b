#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun python train.py \
  # --debug
./evaluate.py --all
