#!/bin/bash
# Tricky: ${#array[@]} of a split variable is the count.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=3
IFS=',' read -r -a gpus <<< "$CUDA_VISIBLE_DEVICES"
torchrun --standalone --nproc_per_node=${#gpus[@]} train.py
