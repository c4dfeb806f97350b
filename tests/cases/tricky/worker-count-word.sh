#!/bin/bash
# Tricky: --num_processes and --nnodes are options of the program here, not of the launcher.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py --num_processes 64 --nnodes 9 --node_rank 3 --multi_gpu
