#!/bin/bash
#PBS -A proj
#PBS -q small
#PBS -l select=12:system=polaris
#PBS -l walltime=1:00:00,filesystems=home
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
