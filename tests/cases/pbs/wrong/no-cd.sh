#!/bin/bash
# wrong: the job starts in HOME, and ./node.sh is in the folder it was submitted from.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
export HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 ./node.sh
