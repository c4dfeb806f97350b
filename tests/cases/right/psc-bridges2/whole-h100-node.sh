#!/bin/bash
#SBATCH --job-name=h100
#SBATCH --partition=GPU
#SBATCH --gpus=h100-80:8
#SBATCH --nodes=1
#SBATCH --time=04:00:00

torchrun --standalone --nnodes=1 --nproc-per-node=8 train.py
