#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
mpiexec -n 8 -ppn 4 python train.py
