#!/bin/bash
#PBS -l select=300
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
