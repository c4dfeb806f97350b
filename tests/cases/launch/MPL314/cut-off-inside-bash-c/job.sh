#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun bash -c "torchrun --nproc-per-node=4 \ 
  --nnodes=1 train.py"
