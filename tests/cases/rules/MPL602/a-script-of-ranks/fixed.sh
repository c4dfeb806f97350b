#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
export HEAD=$(head -n 1 $PBS_NODEFILE)
cd "$PBS_O_WORKDIR" && mpiexec -n 2 -ppn 1 ./node.sh
echo done
