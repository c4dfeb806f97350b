#!/bin/bash
#SBATCH --nodes=1
#SBATCH --partition=gpu
#SBATCH --gpus=8
#SBATCH --account=x
torchrun --standalone --nproc-per-node=4 train.py
