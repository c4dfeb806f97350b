#!/bin/bash
# Tricky: a subshell's export does not leave it.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
( export CUDA_VISIBLE_DEVICES=0; python check_gpu.py )
{ torchrun --standalone --nproc_per_node=4 train.py; } 2>&1 | tee out.txt
