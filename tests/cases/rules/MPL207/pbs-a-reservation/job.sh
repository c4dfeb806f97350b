#!/bin/bash
#PBS -q R1234.server
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
