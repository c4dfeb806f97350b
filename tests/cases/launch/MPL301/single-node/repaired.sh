#!/bin/bash
#SBATCH -N1 --ntasks-per-node=4 --gpus-per-node=4
srun --ntasks=1 --ntasks-per-node=1 --cpus-per-task=4 torchrun --nproc_per_node=4 train.py
