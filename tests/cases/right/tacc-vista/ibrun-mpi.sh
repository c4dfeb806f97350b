#!/bin/bash
#SBATCH -p gh
#SBATCH -N 3
#SBATCH -n 3
#SBATCH -t 10:00:00
#SBATCH -J mpi
# mpi4py inside; a rank per node
ibrun python3 train_mpi.py
