#!/bin/bash
#PBS -l walltime=1:00,select=2:ncpus=8
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
