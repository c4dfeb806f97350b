#!/bin/bash
# Tricky: the job starts in HOME, and ./node.sh is not there: but there is a cd first, in a function.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
go_home() { cd "${PBS_O_WORKDIR:-.}" || exit 1; }
go_home
export HEAD=$(head -n 1 "$PBS_NODEFILE")
mpiexec -n 2 -ppn 1 ./node.sh
