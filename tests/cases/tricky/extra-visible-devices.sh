#!/bin/bash
# Tricky: more entries in CUDA_VISIBLE_DEVICES than the node has GPUs; CUDA ignores what follows the first bad one.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
torchrun --standalone --nproc_per_node=4 train.py
