#!/bin/bash
#SBATCH -N1 --gpus-per-node=4
export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
torchrun --standalone --nproc_per_node=4 train.py
