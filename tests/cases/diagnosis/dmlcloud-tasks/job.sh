#!/bin/bash
#SBATCH -p gpu
#SBATCH -n 2
#SBATCH --nodes 2
#SBATCH --cpus-per-task 8
#SBATCH --gres=gpu:2
srun python examples/mnist.py
