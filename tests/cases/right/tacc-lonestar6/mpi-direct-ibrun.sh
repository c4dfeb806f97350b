#!/bin/bash
#SBATCH -J mpi4py-train
#SBATCH -p gpu-a100
#SBATCH -N 2
#SBATCH -n 6
#SBATCH -t 02:00:00
# the program reads PMI_RANK and PMI_SIZE itself (mpi4py)
module load intel python3
ibrun python3 train_mpi.py --config conf.yaml
