#!/bin/bash
#PBS -l select=1:ncpus=8:mem=4gb
##PBS -l ncpus=8
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
