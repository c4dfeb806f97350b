#!/bin/bash
#PBS -l select=2,walltime=0:30:00,filesystems=home:eagle -A proj
#PBS -q debug
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
