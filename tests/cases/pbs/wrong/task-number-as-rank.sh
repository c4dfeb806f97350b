#!/bin/bash
# wrong: PBS_TASKNUM is the number of PBS' task, 1 in the script: every rank calls itself 1.
# lab: MAPLE_MPI=hydra
#PBS -l select=1:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=2
mpiexec -n 2 bash -c "RANK=$PBS_TASKNUM LOCAL_RANK=\$MPI_LOCALRANKID python train.py"
