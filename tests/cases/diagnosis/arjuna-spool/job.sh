#!/bin/bash
#SBATCH -J cahn_hilliard
#SBATCH -n 1
#SBATCH --gres=gpu:1
#SBATCH -p gpu
#SBATCH -w c002
module load cuda/11.1.0
python3 train.py
