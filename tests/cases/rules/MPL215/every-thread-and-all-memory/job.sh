#!/bin/bash
#PBS -q debug
#PBS -l select=2:ncpus=64:ngpus=4:mpiprocs=128:mem=512gb
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
