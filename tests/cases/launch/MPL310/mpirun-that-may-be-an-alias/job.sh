#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
shopt -s expand_aliases
alias mpirun='srun --mpi=pmix'
mpirun --ntasks=4 python train.py
