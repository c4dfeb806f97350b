#!/bin/bash
# Tricky: two programs in one mpiexec, joined by a colon: three ranks and one make a world of four.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -ppn 2 -n 3 ./one.sh train.py : -n 1 ./one.sh train.py --evaluate
