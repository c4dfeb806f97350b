#!/bin/bash
# Tricky: three chunks, of which the first one has no GPU: it prepares, and the other two train.
# lab: MAPLE_MPI=hydra
#PBS -l select=1:ncpus=4+2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
tail -n +2 $PBS_NODEFILE > workers
export MASTER_ADDR=$(head -n 1 workers) MASTER_PORT=29500
mpiexec -f workers -n 4 -ppn 2 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py'
