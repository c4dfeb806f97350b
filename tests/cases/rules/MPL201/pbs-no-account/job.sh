#!/bin/bash
#PBS -q debug
#PBS -l select=2:system=polaris
#PBS -l walltime=0:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
