#!/bin/bash
#PBS -o logs/$PBS_JOBID.out
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
