#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
HEAD=$(hostname)
srun bash -c 'torchrun --standalone --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 --nproc-per-node=4 train.py'
