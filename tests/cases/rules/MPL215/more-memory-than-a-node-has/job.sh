#!/bin/bash
#PBS -q debug
#PBS -l select=1:mem=600gb
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
