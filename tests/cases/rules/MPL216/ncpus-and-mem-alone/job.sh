#!/bin/bash
#PBS -l ncpus=8,mem=4gb
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
