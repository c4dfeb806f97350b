#!/bin/bash
#PBS -q debug
#PBS -l ngpus=4
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
