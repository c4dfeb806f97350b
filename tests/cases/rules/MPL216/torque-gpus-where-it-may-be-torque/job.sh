#!/bin/bash
#PBS -l nodes=2:ppn=4:gpus=1
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
