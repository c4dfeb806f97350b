#!/bin/bash
#PBS -l select=2:ncpus=8
#PBS -l mem=64gb
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
