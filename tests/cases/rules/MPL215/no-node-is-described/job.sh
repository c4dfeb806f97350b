#!/bin/bash
#PBS -l select=1:ngpus=64:ncpus=4096
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
