#!/bin/bash
#PBS -l select=1:ncpus=4:host=$HOST
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
