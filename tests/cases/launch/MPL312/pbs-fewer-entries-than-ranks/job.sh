#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
mpiexec -n 24 --ppn 12 --cpu-bind list:1-16:17-32:33-48:53-68:69-84:85-100 python train.py --backend xccl
