#!/bin/bash
#PBS -l select=4:ncpus=36:mpiprocs=4:ngpus=4
#PBS -l walltime=1:00:00
#PBS -N run
cd $PBS_O_WORKDIR
module load mpich python
mpiexec -n 16 -ppn 4 --cpu-bind depth -d 9 python train.py
