#!/bin/bash
# Tricky: mpi4py takes rank and size from PMI; RANK stays unset and that is right.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
srun --mpi=pmi2 python train_mpi.py
