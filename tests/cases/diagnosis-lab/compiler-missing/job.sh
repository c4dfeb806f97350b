#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
export CXX=/opt/gcc-13/bin/g++
srun python compiled.py
