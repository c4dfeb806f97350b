#!/bin/bash
#PBS -l select=2:ncpus=8:mpiprocs=8+1:ncpus=4:mem=8gb -l place=scatter:excl
#PBS -l walltime=01:70:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
