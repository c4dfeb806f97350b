#!/bin/bash
# Tricky: eval of a line with quotes inside.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
CMD="torchrun --standalone --nproc_per_node=2 train.py --name 'two words'"
echo "$CMD"
eval $CMD
