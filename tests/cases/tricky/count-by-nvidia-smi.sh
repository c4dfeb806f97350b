#!/bin/bash
# Tricky: the number of GPUs comes from a command whose output nobody knows beforehand.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
NGPU=$(nvidia-smi -L | wc -l)
torchrun --standalone --nproc_per_node=$NGPU train.py
