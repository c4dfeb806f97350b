#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
srun apptainer exec --nv /scratch/images/pytorch_24.05.sif python toy.py
