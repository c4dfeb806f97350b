#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --partition=gpu-a100
#SBATCH --time=02:00:00
#SBATCH --gres=gpu:2
ibrun python train.py
