#!/bin/bash
#PBS -l select=ncpus=4:mpiprocs=4
#PBS -l walltime=
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
