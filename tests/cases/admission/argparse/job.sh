#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
srun torchrun --nproc-per-node=4 train.py -b 256 --ep 3
