#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=1:00:00
#SBATCH --gres=gpu:1
#SBATCH --partition=devel
module load singularity
singularity exec tf-1.9.0-gpu.simg --nv python train.py
