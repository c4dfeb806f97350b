#!/bin/bash
# Tricky: the mpirun of the image takes options that the host's does not.
# lab: no (no apptainer)
#SBATCH -N 1 --gpus-per-node=4 --ntasks=1
apptainer exec --nv i.sif mpirun -np 4 --ntasks=4 python train.py
