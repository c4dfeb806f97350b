#!/bin/bash
#SBATCH -N1 --gres=gpu:4
srun torchrun --standalone --nproc_per_node=$SLURM_GPUS_PER_NODE train.py
