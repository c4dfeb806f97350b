#!/bin/bash
#PBS -l select=1:ncpus=${NCPUS}
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
