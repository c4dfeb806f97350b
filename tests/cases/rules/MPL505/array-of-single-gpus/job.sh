#!/bin/bash
#SBATCH --array=0-7
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=50g
#SBATCH --partition=gpuA100x4
torchrun --nproc-per-node=1 --master-port=29500 train.py
