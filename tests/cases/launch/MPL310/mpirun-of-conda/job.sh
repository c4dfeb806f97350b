#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
conda activate mpi
mpirun --ntasks=4 python train.py
