#!/bin/bash
# Tricky: eight workers in sum on four GPUs, but one launch after the other.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
torchrun --standalone --nproc_per_node=4 pretrain.py
torchrun --standalone --nproc_per_node=4 finetune.py
