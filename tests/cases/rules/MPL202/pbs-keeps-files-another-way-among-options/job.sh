#!/bin/bash
#PBS -A proj -k oe -q debug
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
