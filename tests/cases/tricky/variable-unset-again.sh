#!/bin/bash
# Tricky: CUDA_VISIBLE_DEVICES is cut down for a check and set back.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
SAVED=$CUDA_VISIBLE_DEVICES
export CUDA_VISIBLE_DEVICES=0
python check_gpu.py
export CUDA_VISIBLE_DEVICES=$SAVED
torchrun --standalone --nproc_per_node=4 train.py
