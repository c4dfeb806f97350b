#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
mpiexec -n 4 --map-by ppr:2:node --report-bindings python toy.py
