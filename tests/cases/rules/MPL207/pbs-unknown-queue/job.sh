#!/bin/bash
#PBS -q gpu
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
