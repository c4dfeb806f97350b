#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
BIND=list:4:9:14:19:20:25:56:61:66:71:74:79
mpiexec --envall -n 24 --ppn 12 --cpu-bind $BIND python train.py --backend xccl
