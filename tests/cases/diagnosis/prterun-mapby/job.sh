#!/bin/bash
#SBATCH -N 2
mpirun -N 1 -n 2 --rank-by core --map-by node python train.py
