#!/bin/bash
#SBATCH -A abc123
#SBATCH -p gpu-shared
#SBATCH -N 1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=20
#SBATCH --gpus=2
#SBATCH --mem=120G
#SBATCH -t 02:00:00
declare -i n=2
torchrun --standalone --nproc_per_node=$n train.py
