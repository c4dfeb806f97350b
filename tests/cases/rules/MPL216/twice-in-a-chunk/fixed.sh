#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=1
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
