#!/bin/bash
#PBS -l select=2:ngpus=4
#PBS -l place=scatter
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
