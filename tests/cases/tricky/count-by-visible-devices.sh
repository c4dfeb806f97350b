#!/bin/bash
# Tricky: the number of GPUs is counted from CUDA_VISIBLE_DEVICES.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=3
NGPU=$(echo $CUDA_VISIBLE_DEVICES | tr ',' '\n' | wc -l)
torchrun --standalone --nproc_per_node=$NGPU train.py
