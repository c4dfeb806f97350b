#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
mpiexec -n 4 --ppn 2 --cpu-bind=list:1-51:53-208 python train.py --backend xccl
