#!/bin/bash
# Tricky: the launch line in a loop runs three times, one after the other.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
for lr in 1e-3 3e-4 1e-4; do
    torchrun --standalone --nproc_per_node=2 train.py --lr $lr
done
