#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
for seed in 1 2 3; do
    python train.py --seed $seed --lr 0.4
done
