#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
OMP_NUM_THREADS=4 mpiexec -n 8 -ppn 4 python train.py 2>&1 | cat
